"""The order in which targets are asked."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    TargetSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.errors import ErrorCode, Problem
from ktms.domain.ids import ModelName, Region
from ktms.domain.placement import Placement
from ktms.domain.routing.choose import Decision
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.routing.plan import (
    CloudStep,
    LocalStep,
    Plan,
    Step,
    candidates,
    candidates_key,
    plan,
    why_no_node,
)
from ktms.domain.routing.rotation import Rotations
from ktms.domain.snapshot import Snapshot

MakeSnapshot = Callable[..., Snapshot]


def decision(snapshot: Snapshot, *names: str, **changes: Any) -> Decision:
    by_name = {model.name: model for model in snapshot.models}
    facts: dict[str, Any] = {
        "models": tuple(by_name[ModelName(name)] for name in names),
        "chain": None,
        "placement": Placement.NODES_FIRST,
        "tier": None,
        "regions": None,
        "interactive": False,
        "cache": None,
    }
    return Decision(**(facts | changes))


def made(about: Decision, need_tokens: int = 100, min_text_tokens: int = 0, **more: Any) -> Plan:
    facts = {"attempts_max": 6, "need_tokens": need_tokens, "min_text_tokens": min_text_tokens} | more
    found = plan(about, **facts)
    assert isinstance(found, Plan), found
    return found


def told(step: Step) -> str:
    if isinstance(step, CloudStep):
        return step.target.id
    return f"local/{step.target.vendor_model}@{','.join(node.name for node in step.target.nodes)}"


def order(found: Plan) -> list[str]:
    return [told(step) for step in found.steps]


BIG, SMALL = "local/big@mac-fr", "local/small@mac-fr,mac-us"


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        (Placement.NODES_FIRST, [BIG, SMALL, "us-cloud/maxi", "us-cloud/mini", "fr-cloud/petit"]),
        (Placement.NODES_ONLY, [BIG, SMALL]),
        (Placement.CLOUD_FIRST, ["us-cloud/maxi", "us-cloud/mini", "fr-cloud/petit", BIG, SMALL]),
        (Placement.CLOUD_ONLY, ["us-cloud/maxi", "us-cloud/mini", "fr-cloud/petit"]),
    ],
)
def test_a_placement_orders_or_filters_the_chain(
    snapshot_of: MakeSnapshot, placement: Placement, expected: list[str]
) -> None:
    assert order(made(decision(snapshot_of(), "big", "small", placement=placement))) == expected


def test_a_step_knows_its_model(snapshot_of: MakeSnapshot) -> None:
    found = made(decision(snapshot_of(), "big", "small"))

    assert [step.model.name for step in found.steps] == ["big", "small", "big", "small", "small"]


def test_nothing_configured_gives_an_empty_plan(snapshot_of: MakeSnapshot) -> None:
    assert made(decision(snapshot_of(), "empty")).steps == ()


def test_regions_leave_out_targets_and_nodes(snapshot_of: MakeSnapshot) -> None:
    found = made(decision(snapshot_of(), "big", "small", regions=frozenset({Region("us")})))

    assert order(found) == ["local/small@mac-us", "us-cloud/maxi", "us-cloud/mini"]


def test_each_target_is_asked_once_however_often_it_is_named(snapshot_of: MakeSnapshot) -> None:
    # Two public models lead to the same engine model on the same machines.
    found = made(decision(snapshot_of(), "small", "homely", "small"))

    assert order(found) == [SMALL, "us-cloud/mini", "fr-cloud/petit"]


@pytest.mark.parametrize(
    ("attempts_max", "names", "placement", "local"),
    [
        (6, ["small"], Placement.NODES_FIRST, 5),
        (2, ["small"], Placement.NODES_FIRST, 1),
        (1, ["small"], Placement.NODES_FIRST, 1),
        (6, ["homely"], Placement.NODES_FIRST, 6),
        (6, ["empty"], Placement.NODES_FIRST, 6),
        (6, ["small"], Placement.NODES_ONLY, 6),
        (6, ["small"], Placement.CLOUD_FIRST, 6),
    ],
)
def test_one_attempt_is_kept_for_the_cloud(
    snapshot_of: MakeSnapshot, attempts_max: int, names: list[str], placement: Placement, local: int
) -> None:
    found = made(decision(snapshot_of(), *names, placement=placement), attempts_max=attempts_max)

    assert (found.attempts_max, found.local_attempts_max) == (attempts_max, local)


def test_no_attempt_at_all_is_our_own_mistake(snapshot_of: MakeSnapshot) -> None:
    with pytest.raises(AssertionError):
        made(decision(snapshot_of(), "small"), attempts_max=0)


@pytest.mark.parametrize(
    ("need_tokens", "expected"),
    [
        (4096, [SMALL, "us-cloud/mini", "fr-cloud/petit"]),
        (8192, [SMALL, "us-cloud/mini", "fr-cloud/petit"]),  # one node of the two is large enough
        (8193, ["us-cloud/mini", "fr-cloud/petit"]),  # the cloud's windows are not known
        (10**9, ["us-cloud/mini", "fr-cloud/petit"]),
    ],
)
def test_targets_known_to_be_too_small_are_left_out(
    snapshot_of: MakeSnapshot, need_tokens: int, expected: list[str]
) -> None:
    found = made(decision(snapshot_of(), "small"), need_tokens)

    assert order(found) == expected
    assert found.need_tokens == need_tokens


def test_a_smaller_model_of_a_chain_is_left_out_and_the_larger_one_asked(snapshot_of: MakeSnapshot) -> None:
    snapshot = snapshot_of({"small": {"context_window": 8192}})

    assert order(made(decision(snapshot, "small", "big"), 9000)) == [BIG, "us-cloud/maxi"]


def test_a_shared_target_too_small_for_one_model_stays_for_another(snapshot_of: MakeSnapshot) -> None:
    snapshot = snapshot_of({"small": {"context_window": 1000}})
    found = made(decision(snapshot, "small", "homely"), 2000)

    assert [(told(step), step.model.name) for step in found.steps] == [(SMALL, "homely")]


def test_an_estimate_that_fits_nowhere_may_be_wrong(snapshot_of: MakeSnapshot) -> None:
    snapshot = snapshot_of({"small": {"context_window": 8192}})

    found = made(decision(snapshot, "small", "big"), 50_000, 9_000)

    assert order(found) == [BIG, "us-cloud/maxi"]
    assert found.need_tokens == 9_000


def test_what_cannot_fit_anywhere_is_refused(snapshot_of: MakeSnapshot) -> None:
    snapshot = snapshot_of({"small": {"context_window": 8192}})

    found = plan(decision(snapshot, "small", "big"), attempts_max=6, need_tokens=90_000, min_text_tokens=32_769)

    assert isinstance(found, Problem)
    assert found.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
    assert "32768" in found.message


def test_what_just_fits_is_not_refused(snapshot_of: MakeSnapshot) -> None:
    snapshot = snapshot_of({"small": {"context_window": 8192}})

    assert order(made(decision(snapshot, "small", "big"), 90_000, 32_768)) == [BIG, "us-cloud/maxi"]


def test_an_unknown_window_never_refuses(snapshot_of: MakeSnapshot) -> None:
    assert order(made(decision(snapshot_of(), "small", "cloudy"), 10**9, 10**9)) == [
        "us-cloud/mini",
        "fr-cloud/petit",
        "us-cloud/vapour",
    ]


def test_an_empty_plan_is_no_matter_of_windows(snapshot_of: MakeSnapshot) -> None:
    assert made(decision(snapshot_of(), "empty"), 10**9, 10**9).steps == ()


WEIGHTED = {
    "small": {
        "targets": (
            TargetSpec("us-cloud", "plain"),
            TargetSpec("us-cloud", "mini", weight=1),
            TargetSpec("fr-cloud", "petit", weight=5),
            TargetSpec("local", "small"),
            TargetSpec("fr-cloud", "last"),
        )
    }
}


def test_weighted_targets_share_the_first_place_and_the_others_follow_in_file_order(
    snapshot_of: MakeSnapshot,
) -> None:
    about, rotations = decision(snapshot_of(WEIGHTED), "small", placement=Placement.CLOUD_ONLY), Rotations()
    plans = [order(made(about, rotations=rotations)) for _ in range(6)]

    assert Counter(one[0] for one in plans) == {"fr-cloud/petit": 5, "us-cloud/mini": 1}
    assert all(one[2:] == ["us-cloud/plain", "fr-cloud/last"] for one in plans)
    assert all(set(one[:2]) == {"fr-cloud/petit", "us-cloud/mini"} for one in plans)


def test_without_a_rotation_the_heavier_one_comes_first(snapshot_of: MakeSnapshot) -> None:
    about = decision(snapshot_of(WEIGHTED), "small", placement=Placement.CLOUD_ONLY)

    assert order(made(about))[:2] == ["fr-cloud/petit", "us-cloud/mini"]


def test_weighted_targets_that_are_too_small_are_not_charged(snapshot_of: MakeSnapshot) -> None:
    models = {"small": WEIGHTED["small"] | {"context_window": 1000}}
    about = decision(snapshot_of(models), "small", "big", placement=Placement.CLOUD_ONLY)

    assert order(made(about, 2000, rotations=Rotations())) == ["us-cloud/maxi"]


def test_one_weighted_target_alone_does_not_rotate(snapshot_of: MakeSnapshot) -> None:
    models = {"cloudy": {"targets": (TargetSpec("us-cloud", "b"), TargetSpec("us-cloud", "a", weight=3))}}
    about = decision(snapshot_of(models), "cloudy")

    assert order(made(about, rotations=Rotations())) == ["us-cloud/a", "us-cloud/b"]
    assert not candidates(about).rotates


def test_remembered_candidates_give_the_same_plan(snapshot_of: MakeSnapshot) -> None:
    about = decision(snapshot_of(), "big", "small")
    known = candidates(about)

    assert made(about, known=known).steps is known.steps
    assert order(made(about)) == order(made(about, known=known))


def test_candidates_are_remembered_by_what_they_depend_on(snapshot_of: MakeSnapshot) -> None:
    snapshot = snapshot_of()
    plain = candidates_key(decision(snapshot, "small"))

    assert plain == candidates_key(decision(snapshot, "small", interactive=True, cache=False))
    assert plain != candidates_key(decision(snapshot, "small", placement=Placement.NODES_ONLY))
    assert plain != candidates_key(decision(snapshot, "small", regions=frozenset({Region("fr")})))
    assert plain != candidates_key(decision(snapshot, "big"))


NAMES = ["a", "b", "c"]
TARGETS = st.tuples(
    st.sampled_from(["local", "v1", "v2"]), st.sampled_from(["x", "y"]), st.none() | st.integers(1, 5)
)
SPECS = st.tuples(
    st.lists(TARGETS, min_size=1, max_size=5, unique_by=lambda one: one[:2]),
    st.none() | st.integers(1, 100),
    st.sampled_from([None, *Placement]),
    st.booleans(),
    st.none() | st.lists(st.sampled_from(["fr", "us"]), min_size=1, unique=True),
)


def catalogue(specs: list[Any]) -> Catalogue:
    models = tuple(
        ModelSpec(
            name,
            tuple(
                TargetSpec(vendor, model, None if vendor == "local" else weight)
                for vendor, model, weight in targets
            ),
            context_window=window,
            placement=placement,
            placement_lock=lock,
            allowed_regions=None if regions is None else tuple(regions),
        )
        for name, (targets, window, placement, lock, regions) in zip(NAMES, specs, strict=True)
    )
    return Catalogue(
        vendors=(
            VendorSpec("v1", VendorKind.OPENAI, "https://v1.example", region="fr"),
            VendorSpec("v2", VendorKind.OPENAI, "https://v2.example", region="us"),
        ),
        nodes=(
            NodeSpec("n1", "http://10.0.0.1", (NodeModelSpec("x", 50), NodeModelSpec("y:latest")), region="fr"),
            NodeSpec("n2", "http://10.0.0.2", (NodeModelSpec("x", 20),)),
        ),
        models=models,
        chains=(ChainSpec("auto", {"medium": tuple(NAMES)}, "medium"),),
    )


@given(
    st.lists(SPECS, min_size=3, max_size=3),
    st.sampled_from(Placement),
    st.none() | st.frozensets(st.sampled_from([Region("fr"), Region("us")])),
    st.integers(0, 120),
    st.integers(0, 120),
)
def test_no_plan_breaks_a_promise(
    specs: list[Any], placement: Placement, regions: frozenset[Region] | None, text: int, answer: int
) -> None:
    snapshot = compile_snapshot(catalogue(specs), version=1)
    about = decision(snapshot, *NAMES, placement=placement, regions=regions)
    found = plan(
        about,
        attempts_max=6,
        need_tokens=2 * text + answer,
        min_text_tokens=text,
        rotations=Rotations(),
    )
    known = candidates(about)
    if isinstance(found, Problem):
        assert known.largest is not None
        assert known.largest < text
        return
    told_once = [told(step) for step in found.steps]
    assert len(set(told_once)) == len(told_once)
    for step in found.steps:
        _check_step(step, placement, regions, found.need_tokens)
    sides = [isinstance(step, LocalStep) for step in found.steps]
    assert sides == sorted(sides, reverse=placement is not Placement.CLOUD_FIRST)
    if known.steps:
        assert found.steps, "something that can possibly fit is always asked"


def _check_step(step: Step, placement: Placement, regions: frozenset[Region] | None, need_tokens: int) -> None:
    model = step.model
    lock = model.placement if model.placement_lock and model.placement else Placement.NODES_FIRST
    assert step.window is None or step.window >= need_tokens
    where: list[Region | None]
    if isinstance(step, CloudStep):
        assert placement.allows_cloud
        assert lock.allows_cloud
        where = [step.target.vendor.region]
    else:
        assert placement.allows_nodes
        assert lock.allows_nodes
        where = [node.region for node in step.target.nodes]
        assert where
    for allowed in (regions, model.allowed_regions):
        assert allowed is None or all(region in allowed for region in where)


@pytest.mark.parametrize(
    ("name", "more", "word"),
    [
        ("small", {}, None),
        ("empty", {}, "none"),
        ("small", {"regions": frozenset({Region("mars")})}, "unfit"),
        ("small", {"placement": Placement.CLOUD_ONLY}, None),
        ("cloudy", {}, None),
    ],
)
def test_a_plan_without_the_nodes_it_was_for_says_why(
    snapshot_of: MakeSnapshot, name: str, more: dict[str, Any], word: str | None
) -> None:
    about = decision(snapshot_of(), name, **more)
    assert why_no_node(about, made(about).steps) == word


def test_a_window_that_leaves_out_all_nodes_is_told_as_unfit(snapshot_of: MakeSnapshot) -> None:
    about = decision(snapshot_of(), "small")
    assert why_no_node(about, made(about, need_tokens=100_000).steps) == "unfit"
