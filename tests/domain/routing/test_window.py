"""How much a model can take in."""

from collections.abc import Callable

import pytest

from ktms.domain.routing.window import local_window, node_window, shown_window
from ktms.domain.snapshot import Model, Snapshot

MakeSnapshot = Callable[..., Snapshot]


def named(snapshot: Snapshot, name: str) -> Model:
    return next(model for model in snapshot.models if model.name == name)


@pytest.mark.parametrize(("promised", "window"), [(None, 8192), (4000, 4000), (100_000, 8192)])
def test_the_smaller_of_promise_and_place_holds_on_a_node(
    snapshot_of: MakeSnapshot, promised: int | None, window: int
) -> None:
    small = named(snapshot_of({"small": {"context_window": promised}}), "small")
    [target] = small.local

    assert node_window(small, target.nodes[0], target.vendor_model) == window


def test_a_promise_holds_where_the_node_does_not_say(snapshot_of: MakeSnapshot) -> None:
    big = named(snapshot_of(), "big")
    [target] = big.local

    assert local_window(big, target) == 32_768


def test_the_largest_node_counts_for_a_target(snapshot_of: MakeSnapshot) -> None:
    small = named(snapshot_of(), "small")

    assert local_window(small, small.local[0]) == 8192


def test_a_target_with_one_unknown_node_is_unknown(snapshot_of: MakeSnapshot) -> None:
    big = named(snapshot_of({"big": {"context_window": None}}), "big")

    assert local_window(big, big.local[0]) is None


@pytest.mark.parametrize(
    ("names", "window"),
    [(["small"], 8192), (["big", "small"], 32_768), (["cloudy"], None), (["cloudy", "small"], 8192)],
)
def test_listings_show_the_largest_known_window(
    snapshot_of: MakeSnapshot, names: list[str], window: int | None
) -> None:
    snapshot = snapshot_of()

    assert shown_window(tuple(named(snapshot, name) for name in names)) == window
