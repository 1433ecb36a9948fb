"""From the name a client asked for to the entry that it means.

Exact first; then the longest exact entry left after taking suffix words off the right. An unknown name is unknown,
never another model.
"""

from dataclasses import dataclass

from ktms.domain.call import NO_CHOICES, Choices
from ktms.domain.snapshot import Chain, Model, Snapshot
from ktms.domain.suffix import split_suffix


@dataclass(frozen=True, slots=True)
class Resolved:
    """The entry meant, and what the suffix of its name chose."""

    entry: Model | Chain
    suffix: Choices


def resolve(snapshot: Snapshot, requested: str) -> Resolved | None:
    """Find the model or chain a client means; None when there is none."""
    entry = snapshot.names.get(requested)
    if entry is not None:
        return Resolved(entry, NO_CHOICES)
    for left, choices in split_suffix(requested, snapshot.tiers):
        entry = snapshot.names.get(left)
        if entry is not None:
            return Resolved(entry, choices)
    return None
