"""What must hold in a catalogue before anything is compiled from it, and what only deserves a warning.

Two kinds of rules: those of one entry alone (`catalogue_entries.py`) and those between entries
(`catalogue_references.py`). All complaints are found in one pass, in the order of the file, so an operator mends
them in one go. Nothing here names a secret.
"""

from ktms.domain.catalogue import Catalogue
from ktms.domain.catalogue_entries import entry_complaints
from ktms.domain.catalogue_references import reference_complaints
from ktms.domain.catalogue_warnings import warnings
from ktms.domain.complaint import Complaint

__all__ = ["CatalogueInvalid", "Complaint", "complaints", "warnings"]


class CatalogueInvalid(Exception):
    """The catalogue does not hold together; `complaints` says all that is wrong with it."""

    def __init__(self, complaints: tuple[Complaint, ...]) -> None:
        assert complaints, "an invalid catalogue has at least one complaint"
        super().__init__("; ".join(str(complaint) for complaint in complaints[:SHOWN_MAX]))
        self.complaints = complaints


SHOWN_MAX = 5
"""The text of the exception stays readable; all complaints are in the attribute."""


def complaints(catalogue: Catalogue) -> tuple[Complaint, ...]:
    """Find all that is wrong; empty means that the catalogue compiles."""
    return (*entry_complaints(catalogue), *reference_complaints(catalogue))
