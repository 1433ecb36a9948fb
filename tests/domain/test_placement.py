"""The four placements."""

import pytest

from ktms.domain.placement import Placement, placement_named


@pytest.mark.parametrize("placement", list(Placement))
def test_hyphens_and_underscores_both_name_it(placement: Placement) -> None:
    assert placement_named(placement.value) is placement
    assert placement_named(placement.value.replace("_", "-")) is placement


@pytest.mark.parametrize("text", ["", "nodes", "NODES_ONLY", "nodes_only ", "nodes only", "cloud"])
def test_anything_else_names_none(text: str) -> None:
    assert placement_named(text) is None


def test_nodes_only_never_allows_the_cloud_and_cloud_only_never_nodes() -> None:
    assert [one for one in Placement if not one.allows_cloud] == [Placement.NODES_ONLY]
    assert [one for one in Placement if not one.allows_nodes] == [Placement.CLOUD_ONLY]
