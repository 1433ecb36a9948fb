"""Which targets a call may use at all."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.ids import Region
from ktms.domain.placement import Placement
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.routing.permitted import Regions, cloud_targets, excluded_by_region, intersection, local_targets
from ktms.domain.snapshot import Model, Snapshot
from tests.domain.routing.conftest import CATALOGUE

MakeSnapshot = Callable[..., Snapshot]

NODES_FIRST = Placement.NODES_FIRST


def regions(*names: str) -> frozenset[Region]:
    return frozenset(Region(name) for name in names)


def named(snapshot: Snapshot, name: str) -> Model:
    return next(model for model in snapshot.models if model.name == name)


def naming(fr: str | None, us: str | None, **changes: Placement | bool) -> Model:
    """The model `small`, whose node in France and whose node in the US name these models of the cloud."""
    named_by = {"mac-fr": fr, "mac-us": us, "mac-off": "maxi"}
    nodes = tuple(replace(node, cloud_model=named_by[node.name]) for node in CATALOGUE.nodes)
    models = tuple(replace(model, **changes) for model in CATALOGUE.models if model.name == "small")  # type: ignore[arg-type]
    return named(compile_snapshot(replace(CATALOGUE, nodes=nodes, models=models, chains=()), version=1), "small")


def clouds(model: Model, placement: Placement = NODES_FIRST, allowed: Regions = None) -> list[str]:
    return [target.id for target in cloud_targets(model, placement, allowed)]


AS_WRITTEN = ["us-cloud/mini", "fr-cloud/petit"]


SETS = st.none() | st.frozensets(st.sampled_from([Region("fr"), Region("us"), Region("de")]))


@given(SETS, SETS, st.sampled_from([Region("fr"), Region("us"), Region("de")]))
def test_a_region_is_allowed_if_both_allow_it(a: Regions, b: Regions, region: Region) -> None:
    both = intersection(a, b)

    allowed = both is None or region in both
    assert allowed is ((a is None or region in a) and (b is None or region in b))


def test_without_regions_every_node_and_vendor_may_be_used(snapshot_of: MakeSnapshot) -> None:
    small = named(snapshot_of(), "small")

    [local] = local_targets(small, NODES_FIRST, None)
    assert [node.name for node in local.nodes] == ["mac-fr", "mac-us"]
    assert [target.id for target in cloud_targets(small, NODES_FIRST, None)] == ["us-cloud/mini", "fr-cloud/petit"]


def test_regions_leave_out_nodes_and_vendors_elsewhere(snapshot_of: MakeSnapshot) -> None:
    small = named(snapshot_of(), "small")

    [local] = local_targets(small, NODES_FIRST, regions("fr"))
    assert [node.name for node in local.nodes] == ["mac-fr"]
    assert [target.id for target in cloud_targets(small, NODES_FIRST, regions("fr"))] == ["fr-cloud/petit"]


def test_a_models_own_regions_hold_too(snapshot_of: MakeSnapshot) -> None:
    small = named(snapshot_of({"small": {"allowed_regions": ("fr",)}}), "small")

    assert [target.id for target in cloud_targets(small, NODES_FIRST, None)] == ["fr-cloud/petit"]
    assert cloud_targets(small, NODES_FIRST, regions("us")) == ()
    assert local_targets(small, NODES_FIRST, regions("us")) == ()


def test_a_local_target_nobody_serves_is_left_out(snapshot_of: MakeSnapshot) -> None:
    assert local_targets(named(snapshot_of(), "empty"), NODES_FIRST, None) == ()


@pytest.mark.parametrize("placement", list(Placement))
def test_a_placement_leaves_out_one_side(snapshot_of: MakeSnapshot, placement: Placement) -> None:
    small = named(snapshot_of(), "small")

    assert bool(local_targets(small, placement, None)) is placement.allows_nodes
    assert bool(cloud_targets(small, placement, None)) is placement.allows_cloud


@pytest.mark.parametrize("lock", list(Placement))
def test_a_models_own_lock_leaves_out_the_other_side_in_a_chain(
    snapshot_of: MakeSnapshot, lock: Placement
) -> None:
    small = named(snapshot_of({"small": {"placement": lock, "placement_lock": True}}), "small")

    assert bool(local_targets(small, NODES_FIRST, None)) is lock.allows_nodes
    assert bool(cloud_targets(small, NODES_FIRST, None)) is lock.allows_cloud


def test_a_nodes_only_of_its_own_keeps_a_model_at_home_where_nobody_said_otherwise(
    snapshot_of: MakeSnapshot,
) -> None:
    small = named(snapshot_of({"small": {"placement": Placement.NODES_ONLY}}), "small")

    assert cloud_targets(small, NODES_FIRST, None, unsaid=True) == ()
    assert local_targets(small, NODES_FIRST, None, unsaid=True) != ()
    assert local_targets(small, Placement.CLOUD_ONLY, None, unsaid=True) == ()


def test_another_placement_of_its_own_leaves_out_nothing_in_a_chain(snapshot_of: MakeSnapshot) -> None:
    small = named(snapshot_of({"small": {"placement": Placement.CLOUD_ONLY}}), "small")

    assert local_targets(small, NODES_FIRST, None, unsaid=True) != ()


def test_a_default_that_is_not_locked_leaves_out_nothing(snapshot_of: MakeSnapshot) -> None:
    small = named(snapshot_of({"small": {"placement": Placement.NODES_ONLY}}), "small")

    assert cloud_targets(small, NODES_FIRST, None)


@pytest.mark.parametrize(
    ("name", "placement", "allowed", "excluded"),
    [
        ("small", NODES_FIRST, None, False),
        ("small", NODES_FIRST, regions("fr"), False),
        ("small", NODES_FIRST, regions("de"), True),
        ("small", NODES_FIRST, regions(), True),
        ("small", Placement.NODES_ONLY, regions("us"), False),
        ("small", Placement.CLOUD_ONLY, regions("us"), False),
        ("cloudy", NODES_FIRST, regions("fr"), True),
        ("cloudy", Placement.NODES_ONLY, regions("fr"), False),  # it is not the region that leaves nothing
        ("homely", Placement.CLOUD_ONLY, regions("fr"), False),
        ("homely", NODES_FIRST, regions("de"), True),
        ("empty", NODES_FIRST, regions("fr"), False),
    ],
)
def test_it_is_told_whether_regions_alone_leave_nothing(
    snapshot_of: MakeSnapshot, name: str, placement: Placement, allowed: Regions, excluded: bool
) -> None:
    assert excluded_by_region((named(snapshot_of(), name),), placement, allowed) is excluded


@given(
    name=st.sampled_from(["small", "big", "cloudy", "homely", "empty"]),
    placement=st.sampled_from(Placement),
    allowed=SETS,
)
def test_excluded_means_that_something_is_there_without_regions_and_nothing_with_them(
    snapshot_of: MakeSnapshot, name: str, placement: Placement, allowed: Regions
) -> None:
    model = named(snapshot_of(), name)

    def some(within: Regions) -> bool:
        return bool(local_targets(model, placement, within) or cloud_targets(model, placement, within))

    assert excluded_by_region((model,), placement, allowed) is (some(None) and not some(allowed))


def test_what_all_nodes_name_stands_in_when_a_call_goes_on_to_the_cloud() -> None:
    assert clouds(naming("grand", "grand")) == ["us-cloud/grand", "fr-cloud/grand"]


@pytest.mark.parametrize(("fr", "us"), [("grand", "maxi"), ("grand", None), (None, None)])
def test_nodes_that_do_not_agree_leave_the_cloud_as_it_is_written(fr: str | None, us: str | None) -> None:
    assert clouds(naming(fr, us)) == AS_WRITTEN


def test_only_nodes_that_the_call_may_use_are_asked_what_stands_in() -> None:
    assert clouds(naming("grand", None), allowed=regions("fr")) == ["fr-cloud/grand"]


@pytest.mark.parametrize("placement", [Placement.CLOUD_FIRST, Placement.CLOUD_ONLY])
def test_nothing_stands_in_for_a_call_that_does_not_come_from_the_nodes(placement: Placement) -> None:
    assert clouds(naming("grand", "grand"), placement) == AS_WRITTEN


def test_nothing_stands_in_for_a_model_that_is_locked_to_the_cloud() -> None:
    model = naming("grand", "grand", placement=Placement.CLOUD_ONLY, placement_lock=True)

    assert clouds(model) == AS_WRITTEN


def test_a_node_that_is_switched_off_names_nothing() -> None:
    assert "maxi" not in naming(None, None).stand_ins
