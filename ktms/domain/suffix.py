"""Suffix words of model names: `auto:nodes-only:high`.

A closed set: the four placements (with hyphens) and the tiers, each kind at most once, in any order, separated by
colons. What is left of them must be an exact name; that look-up is in `names.py`.
"""

from collections.abc import Iterable, Iterator

from ktms.domain.call import Choices
from ktms.domain.placement import Placement

DEFAULT_TIERS = frozenset({"low", "medium", "high"})
"""Tier words of a catalogue without chains, so that asking for one is told apart from an unknown model."""

_PLACEMENT_WORDS = {placement.value.replace("_", "-"): placement for placement in Placement}


def tier_words(chains: Iterable[Iterable[str]]) -> frozenset[str]:
    """Give all tiers of all chains, or the default ones where there are none."""
    return frozenset(tier for tiers in chains for tier in tiers) or DEFAULT_TIERS


def split_suffix(requested: str, tiers: frozenset[str]) -> Iterator[tuple[str, Choices]]:
    """Take words off the right, one at a time: longest rest first. Nothing where the last word is none of ours."""
    left, placement, tier = requested, None, None
    while ":" in left:
        left, _, word = left.rpartition(":")
        if placement is None and word in _PLACEMENT_WORDS:
            placement = _PLACEMENT_WORDS[word]
        elif tier is None and word in tiers:
            tier = word
        else:
            return
        yield left, Choices(placement=placement, tier=tier)
