"""What is to be done with a call."""

from collections.abc import Callable
from typing import Any

import pytest

from ktms.domain.access.client_key import ClientKey
from ktms.domain.call import NO_CHOICES, Choices
from ktms.domain.errors import ErrorCode, Problem
from ktms.domain.ids import Region
from ktms.domain.placement import Placement
from ktms.domain.routing.choose import Decision, Listed, choose, visible
from ktms.domain.routing.names import resolve
from ktms.domain.snapshot import Snapshot

MakeSnapshot = Callable[..., Snapshot]
MakeKey = Callable[..., ClientKey]


def decide(
    snapshot: Snapshot, key: ClientKey, requested: str, header: Choices = NO_CHOICES, field: Choices = NO_CHOICES
) -> Decision | Problem:
    resolved = resolve(snapshot, requested)
    assert resolved is not None
    return choose(snapshot, resolved, header=header, field=field, key=key)


def decided(*asked: Any) -> Decision:
    found = decide(*asked)
    assert isinstance(found, Decision), found
    return found


def refused(*asked: Any) -> Problem:
    found = decide(*asked)
    assert isinstance(found, Problem), found
    return found


def test_a_model_alone_is_decided_by_defaults(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    snapshot = snapshot_of()

    assert decided(snapshot, key_of(), "small") == Decision(
        models=(snapshot.models[0],),
        chain=None,
        placement=Placement.NODES_FIRST,
        tier=None,
        regions=None,
        interactive=False,
        cache=None,
        unsaid=True,
    )


@pytest.mark.parametrize(
    ("header", "unsaid"), [(NO_CHOICES, True), (Choices(placement=Placement.NODES_FIRST), False)]
)
def test_it_is_noted_whether_the_client_named_a_placement(
    snapshot_of: MakeSnapshot, key_of: MakeKey, header: Choices, unsaid: bool
) -> None:
    assert decided(snapshot_of(), key_of(), "small", header).unsaid is unsaid


def test_a_keys_own_placement_is_a_word_too(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    assert not decided(snapshot_of(), key_of(placement=Placement.CLOUD_FIRST), "small").unsaid


def test_a_chain_is_decided_with_its_default_tier(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    found = decided(snapshot_of(), key_of(), "auto")

    assert (found.chain, found.tier) == ("auto", "medium")
    assert [model.name for model in found.models] == ["small"]


PLACES = ["header", "field", "suffix"]


@pytest.mark.parametrize("first", range(3))
def test_header_wins_over_field_over_suffix(snapshot_of: MakeSnapshot, key_of: MakeKey, first: int) -> None:
    said = [Choices(Placement.NODES_ONLY, "high"), Choices(Placement.CLOUD_FIRST, "medium")]
    header = said[0] if first == 0 else NO_CHOICES
    field = said[first > 0] if first < 1 else (said[0] if first == 1 else NO_CHOICES)
    requested = "auto:nodes-only:high" if first == 2 else "auto:cloud-first:medium"

    found = decided(snapshot_of(), key_of(), requested, header, field)

    assert (found.placement, found.tier) == (Placement.NODES_ONLY, "high")


def test_a_keys_tier_wins_over_the_chains(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    assert decided(snapshot_of(), key_of(tier="high"), "auto").tier == "high"


def test_a_keys_tier_that_the_chain_lacks_is_not_the_clients_fault(
    snapshot_of: MakeSnapshot, key_of: MakeKey
) -> None:
    assert decided(snapshot_of(), key_of(tier="ultra"), "auto").tier == "medium"
    assert decided(snapshot_of(), key_of(tier="high"), "small").tier is None


@pytest.mark.parametrize(
    ("header", "field", "requested", "param"),
    [
        (Choices(tier="high"), NO_CHOICES, "small", "X-KTMS-Tier"),
        (NO_CHOICES, Choices(tier="high"), "small", "ktms.tier"),
        (NO_CHOICES, NO_CHOICES, "small:high", "model"),
        (Choices(tier="ultra"), NO_CHOICES, "auto", "X-KTMS-Tier"),
        (NO_CHOICES, Choices(tier="ultra"), "auto", "ktms.tier"),
    ],
)
def test_a_tier_that_is_not_there_is_a_bad_request(
    snapshot_of: MakeSnapshot, key_of: MakeKey, header: Choices, field: Choices, requested: str, param: str
) -> None:
    cause = refused(snapshot_of(), key_of(), requested, header, field)

    assert (cause.code, cause.param) == (ErrorCode.INVALID_REQUEST, param)


@pytest.mark.parametrize(
    ("header", "field", "by_key", "interactive"),
    [(None, None, False, False), (None, None, True, True), (None, False, True, False), (True, False, False, True)],
)
def test_interactive_follows_the_same_order(
    snapshot_of: MakeSnapshot,
    key_of: MakeKey,
    header: bool | None,
    field: bool | None,
    by_key: bool,
    interactive: bool,
) -> None:
    found = decided(
        snapshot_of(),
        key_of(interactive=by_key),
        "small",
        Choices(interactive=header),
        Choices(interactive=field),
    )

    assert found.interactive is interactive


@pytest.mark.parametrize(
    ("header", "field", "cache"), [(None, None, None), (None, False, False), (True, False, True)]
)
def test_cache_is_what_the_client_said_first(
    snapshot_of: MakeSnapshot, key_of: MakeKey, header: bool | None, field: bool | None, cache: bool | None
) -> None:
    found = decided(snapshot_of(), key_of(), "small", Choices(cache=header), Choices(cache=field))

    assert found.cache is cache


@pytest.mark.parametrize(
    ("listed", "requested", "allowed"),
    [
        ({"small"}, "small", True),
        ({"small"}, "default", True),
        ({"default"}, "default", True),
        ({"default"}, "small", True),
        ({"big"}, "small", False),
        ({"auto"}, "auto", True),
        ({"auto"}, "small", False),
        ({"small", "big"}, "auto", False),
        (set(), "small", False),
        ({"gone"}, "small", False),
    ],
)
def test_a_key_uses_what_it_lists_under_any_of_its_names(
    snapshot_of: MakeSnapshot, key_of: MakeKey, listed: set[str], requested: str, allowed: bool
) -> None:
    found = decide(snapshot_of(), key_of(models=frozenset(listed)), requested)

    assert isinstance(found, Decision) is allowed
    if isinstance(found, Problem):
        assert (found.code, found.param) == (ErrorCode.MODEL_NOT_ALLOWED, "model")


def test_a_locked_placement_is_refused(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    cause = refused(snapshot_of(placement_lock=True), key_of(), "small", Choices(Placement.CLOUD_ONLY))

    assert cause.code == ErrorCode.PLACEMENT_LOCKED


def test_regions_of_policy_and_key_are_intersected(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    key = key_of(allowed_regions=frozenset({Region("fr"), Region("de")}))

    assert decided(snapshot_of(allowed_regions=("fr", "us")), key, "small").regions == frozenset({Region("fr")})


def test_regions_that_leave_nothing_are_refused(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    key = key_of(allowed_regions=frozenset({Region("de")}))

    assert refused(snapshot_of(allowed_regions=("fr",)), key, "small").code == ErrorCode.REGION_NOT_ALLOWED


def test_a_model_without_any_target_is_no_matter_of_regions(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    assert decided(snapshot_of(allowed_regions=("fr",)), key_of(), "empty").models[0].name == "empty"


def test_a_key_sees_all_names_with_window_and_placement(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    listed = {one.id: one for one in visible(snapshot_of({"big": {"placement": Placement.CLOUD_FIRST}}), key_of())}

    assert list(listed) == ["small", "big", "cloudy", "homely", "empty", "default", "auto"]
    assert listed["default"] == Listed("default", 8192, Placement.NODES_FIRST)
    assert listed["big"] == Listed("big", 32_768, Placement.CLOUD_FIRST)
    assert listed["cloudy"].context_window is None


def test_a_key_sees_only_what_it_may_use(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    listed = visible(snapshot_of(), key_of(models=frozenset({"default", "auto"})))

    assert [one.id for one in listed] == ["small", "default", "auto"]


def test_what_a_keys_regions_leave_out_is_not_seen(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    listed = visible(snapshot_of(), key_of(allowed_regions=frozenset({Region("fr")})))

    assert "cloudy" not in {one.id for one in listed}


def test_a_chain_shows_the_window_of_the_keys_tier(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    shown = {one.id: one.context_window for one in visible(snapshot_of(), key_of(tier="high"))}

    assert shown["auto"] == 32_768


def test_the_incident_toggle_hides_nothing(snapshot_of: MakeSnapshot, key_of: MakeKey) -> None:
    key = key_of(placement=Placement.NODES_ONLY)

    assert visible(snapshot_of(force_cloud=True), key) == visible(snapshot_of(), key)
