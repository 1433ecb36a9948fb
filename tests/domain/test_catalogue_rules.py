"""What must hold in a catalogue, as a whole."""

import pytest

from ktms.domain.catalogue import Catalogue, ModelSpec, NodeSpec, TargetSpec
from ktms.domain.catalogue_rules import CatalogueInvalid, Complaint, complaints


def test_an_empty_catalogue_is_sound() -> None:
    assert complaints(Catalogue()) == ()


def test_all_complaints_are_found_at_once() -> None:
    catalogue = Catalogue(
        nodes=(NodeSpec("", "gopher://x", (), slots=0),), models=(ModelSpec("m", (TargetSpec("nobody", "x"),)),)
    )

    assert [complaint.path for complaint in complaints(catalogue)] == [
        ("nodes", 0, "name"),
        ("nodes", 0, "url"),
        ("nodes", 0, "slots"),
        ("models", 0, "targets", 0, "vendor"),
    ]


def test_the_exception_carries_all_and_shows_some() -> None:
    found = tuple(Complaint(("nodes", index), "bad") for index in range(9))

    error = CatalogueInvalid(found)

    assert error.complaints == found
    assert str(error) == "; ".join(f"nodes.{index}: bad" for index in range(5))


def test_an_invalid_catalogue_without_a_complaint_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError):
        CatalogueInvalid(())
