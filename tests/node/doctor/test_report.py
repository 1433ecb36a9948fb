import json

from ktms.node.doctor.cause import Id
from ktms.node.doctor.finding import Finding, finding, size
from ktms.node.doctor.report import as_json, lines

KEY = finding(Id.KEY_REFUSED)
LINGER = finding(Id.NO_LINGER, user="anna")


def test_each_finding_is_one_line_with_its_remedy() -> None:
    told = list(lines((KEY, LINGER), ()))
    assert told[0].startswith("stops  key-refused: the gateway refuses the node key")
    assert told[1].endswith("Remedy: loginctl enable-linger anna")
    assert len(told) == 2


def test_a_report_without_findings_says_so_and_what_it_does_not_know() -> None:
    assert [line[:6].strip() for line in lines((), ("the window of a model",))] == ["open", "well"]


def test_a_remark_is_no_reason_to_be_unwell() -> None:
    assert [line[:6].strip() for line in lines((finding(Id.LOGIN_NEEDED),), ())] == ["note", "well"]


def test_programs_get_the_same_as_json() -> None:
    told = json.loads(as_json((LINGER,), ("x",)))
    assert (told["exit_code"], told["not_found_out"]) == (2, ["x"])
    (one,) = told["findings"]
    assert one == {
        "cause": "no-linger",
        "weight": "warns",
        "title": LINGER.title,
        "remedy": LINGER.remedy,
        "values": {"user": "anna"},
    }


def test_sizes_are_written_for_people() -> None:
    assert (size(5_200_000_000), size(None)) == ("5.2 GB", "an unknown amount")


def test_findings_of_the_same_cause_and_values_are_one() -> None:
    assert {finding(Id.NO_LINGER, user="anna"), LINGER} == {Finding(Id.NO_LINGER, (("user", "anna"),))}
