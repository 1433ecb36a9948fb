"""Complaints and where they belong."""

from ktms.domain.complaint import Complaint, prefixed, repeated


def test_a_complaint_tells_where_it_belongs() -> None:
    complaint = Complaint(("models", 0, "targets", 1, "vendor"), "there is no vendor 'x'")

    assert str(complaint) == "models.0.targets.1.vendor: there is no vendor 'x'"


def test_a_complaint_about_an_entry_moves_to_where_the_entry_stands() -> None:
    assert list(prefixed(("nodes", 2), [Complaint(("url",), "bad")])) == [Complaint(("nodes", 2, "url"), "bad")]


def test_repeated_values_are_found_from_the_second_on() -> None:
    assert list(repeated(["a", "b", "a", "c", "a"])) == [2, 4]
