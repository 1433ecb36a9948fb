import pytest

from ktms.app.cli.screen import clean, put, put_table, say


def test_control_characters_become_question_marks() -> None:
    assert clean("a\x1b[31mb\rc\x07\x9b").plain == "a?[31mb?c??"


def test_line_ends_stay() -> None:
    assert clean("a\nb").plain == "a\nb"


def test_markup_of_others_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    put("[bold]x[/bold]")
    assert capsys.readouterr().out == "[bold]x[/bold]\n"


def test_what_is_said_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    say("x")
    assert capsys.readouterr() == ("", "x\n")


def test_a_long_line_is_not_broken(capsys: pytest.CaptureFixture[str]) -> None:
    put("x" * 500)
    assert capsys.readouterr().out == "x" * 500 + "\n"


def test_a_cell_with_markup_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    put_table(("name",), [("[link=x]y",)])
    assert "[link=x]y" in capsys.readouterr().out
