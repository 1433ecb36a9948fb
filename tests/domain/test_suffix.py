"""Suffix words of model names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.call import Choices
from ktms.domain.placement import Placement
from ktms.domain.suffix import DEFAULT_TIERS, split_suffix, tier_words

TIERS = frozenset({"low", "high"})


@pytest.mark.parametrize(
    ("requested", "found"),
    [
        ("auto", []),
        ("auto:high", [("auto", Choices(tier="high"))]),
        ("auto:nodes-only", [("auto", Choices(placement=Placement.NODES_ONLY))]),
        (
            "auto:nodes-only:high",
            [
                ("auto:nodes-only", Choices(tier="high")),
                ("auto", Choices(placement=Placement.NODES_ONLY, tier="high")),
            ],
        ),
        (
            "auto:high:cloud-first",
            [
                ("auto:high", Choices(placement=Placement.CLOUD_FIRST)),
                ("auto", Choices(placement=Placement.CLOUD_FIRST, tier="high")),
            ],
        ),
        ("qwen3:4b", []),
        ("qwen3:4b:nodes-only", [("qwen3:4b", Choices(placement=Placement.NODES_ONLY))]),
        ("auto:nodes_only", []),  # the closed set is written with hyphens
        ("auto:HIGH", []),
        ("auto:medium", []),  # no tier here
        ("auto:", []),
        (":high", [("", Choices(tier="high"))]),
    ],
)
def test_known_words_are_taken_off_the_right(requested: str, found: list[tuple[str, Choices]]) -> None:
    assert list(split_suffix(requested, TIERS)) == found


@pytest.mark.parametrize("requested", ["auto:low:high", "auto:nodes-only:cloud-only"])
def test_each_kind_is_taken_at_most_once(requested: str) -> None:
    assert len(list(split_suffix(requested, TIERS))) == 1


@given(st.lists(st.sampled_from(["a", "high", "low", "nodes-only", "cloud-first", ""]), max_size=8))
def test_what_is_left_is_always_the_beginning_of_what_was_asked(words: list[str]) -> None:
    requested = ":".join(words)
    left = [rest for rest, _ in split_suffix(requested, TIERS)]

    assert len(left) <= 2
    assert all(requested.startswith(rest + ":") for rest in left)


def test_tiers_are_those_of_all_chains() -> None:
    assert tier_words([["low", "high"], ["high", "max"]]) == {"low", "high", "max"}


def test_without_chains_the_usual_tiers_are_words() -> None:
    assert tier_words([]) == DEFAULT_TIERS == {"low", "medium", "high"}
