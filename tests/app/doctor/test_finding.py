from ktms.app.doctor.finding import Verdict, error, fine, warning


def test_a_finding_has_the_verdict_of_its_name() -> None:
    assert [made("x", "y").verdict for made in (fine, warning, error)] == list(Verdict)
