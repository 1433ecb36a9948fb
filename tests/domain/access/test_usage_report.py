from ktms.domain.access.usage_report import ROWS_MAX, UsageTooFine


def test_a_question_that_is_too_fine_says_what_to_do() -> None:
    assert str(UsageTooFine()).startswith(f"more than {ROWS_MAX} rows: ask for fewer days")
