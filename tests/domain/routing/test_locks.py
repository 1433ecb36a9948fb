"""Which placement holds for a call."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.access.client_key import ClientKey
from ktms.domain.catalogue import Catalogue, ChainSpec, ModelSpec, PolicySpec, TargetSpec
from ktms.domain.errors import ErrorCode, Problem
from ktms.domain.ids import KeyId, TenantName
from ktms.domain.placement import Placement
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.routing.locks import placement_for
from ktms.domain.snapshot import Chain, Model

NODES_FIRST, NODES_ONLY = Placement.NODES_FIRST, Placement.NODES_ONLY
CLOUD_FIRST, CLOUD_ONLY = Placement.CLOUD_FIRST, Placement.CLOUD_ONLY


def key(**rights: Any) -> ClientKey:
    return ClientKey(KeyId("0123456789"), bytes(32), "app-1", TenantName("default"), **rights)


def model(placement: Placement | None = None, *, lock: bool = False) -> Model:
    spec = ModelSpec("m", (TargetSpec("local", "x"),), placement=placement, placement_lock=lock)
    return compile_snapshot(Catalogue(models=(spec,)), version=1).models[0]


def chain() -> Chain:
    spec = ModelSpec("m", (TargetSpec("local", "x"),), placement=CLOUD_ONLY, placement_lock=True)
    catalogue = Catalogue(models=(spec,), chains=(ChainSpec("auto", {"medium": ("m",)}, "medium"),))
    return compile_snapshot(catalogue, version=1).chains[0]


def code(found: Placement | Problem) -> str:
    assert isinstance(found, Problem)
    return found.code


def test_the_global_default_holds_where_nobody_says_anything() -> None:
    assert placement_for(PolicySpec(), model(), key(), None) is NODES_FIRST
    assert placement_for(PolicySpec(CLOUD_FIRST), model(), key(), None) is CLOUD_FIRST


def test_a_models_default_wins_over_the_global_one() -> None:
    assert placement_for(PolicySpec(CLOUD_FIRST), model(NODES_ONLY), key(), None) is NODES_ONLY


def test_a_keys_default_wins_over_the_models() -> None:
    assert placement_for(PolicySpec(), model(NODES_ONLY), key(placement=CLOUD_FIRST), None) is CLOUD_FIRST


def test_the_clients_wish_wins_over_all_defaults() -> None:
    found = placement_for(PolicySpec(CLOUD_FIRST), model(CLOUD_FIRST), key(placement=CLOUD_FIRST), NODES_ONLY)

    assert found is NODES_ONLY


LOCKED: list[tuple[str, Callable[[Placement | None], Placement | Problem]]] = [
    ("global", lambda wish: placement_for(PolicySpec(NODES_FIRST, placement_lock=True), model(), key(), wish)),
    ("model", lambda wish: placement_for(PolicySpec(), model(NODES_FIRST, lock=True), key(), wish)),
    (
        "key",
        lambda wish: placement_for(PolicySpec(), model(), key(placement=NODES_FIRST, placement_lock=True), wish),
    ),
    (
        "key without a word of its own",
        lambda wish: placement_for(PolicySpec(), model(), key(placement_lock=True), wish),
    ),
]


@pytest.mark.parametrize("ask", [ask for _, ask in LOCKED], ids=[name for name, _ in LOCKED])
def test_a_lock_refuses_another_wish_and_takes_the_same(
    ask: Callable[[Placement | None], Placement | Problem],
) -> None:
    assert ask(None) is NODES_FIRST
    assert ask(NODES_FIRST) is NODES_FIRST
    for wish in (NODES_ONLY, CLOUD_FIRST, CLOUD_ONLY):
        assert code(ask(wish)) == ErrorCode.PLACEMENT_LOCKED


def test_an_unlocked_default_never_weakens_a_lock() -> None:
    locked = PolicySpec(NODES_FIRST, placement_lock=True)

    assert placement_for(locked, model(CLOUD_FIRST), key(placement=CLOUD_ONLY), None) is NODES_FIRST


def test_the_most_specific_lock_wins() -> None:
    locked = PolicySpec(NODES_FIRST, placement_lock=True)

    assert placement_for(locked, model(CLOUD_ONLY, lock=True), key(), None) is CLOUD_ONLY
    found = placement_for(
        locked, model(CLOUD_ONLY, lock=True), key(placement=CLOUD_FIRST, placement_lock=True), None
    )
    assert found is CLOUD_FIRST


@pytest.mark.parametrize(
    "found",
    [
        placement_for(PolicySpec(NODES_ONLY, placement_lock=True), model(CLOUD_ONLY, lock=True), key(), None),
        placement_for(PolicySpec(NODES_FIRST, placement_lock=True), model(NODES_ONLY), key(), None),
        placement_for(PolicySpec(CLOUD_ONLY, placement_lock=True), model(), key(placement=NODES_ONLY), None),
        placement_for(PolicySpec(), model(NODES_ONLY, lock=True), key(placement=CLOUD_ONLY), None),
    ],
)
def test_nodes_only_wins_among_administrators_own_words(found: Placement | Problem) -> None:
    assert found is NODES_ONLY


def test_a_chain_has_no_placement_of_its_own() -> None:
    assert placement_for(PolicySpec(), chain(), key(), NODES_ONLY) is NODES_ONLY


def test_a_key_may_be_limited_to_some_placements() -> None:
    limited = key(placements=frozenset({NODES_FIRST, NODES_ONLY}))

    assert placement_for(PolicySpec(), model(), limited, NODES_ONLY) is NODES_ONLY
    assert code(placement_for(PolicySpec(), model(), limited, CLOUD_ONLY)) == ErrorCode.PLACEMENT_LOCKED


@pytest.mark.parametrize(
    ("placements", "chosen"),
    [
        ({NODES_ONLY}, NODES_ONLY),
        ({CLOUD_ONLY, NODES_ONLY}, NODES_ONLY),
        ({CLOUD_ONLY, CLOUD_FIRST}, CLOUD_FIRST),
        ({CLOUD_ONLY}, CLOUD_ONLY),
    ],
)
def test_a_default_a_key_may_not_use_gives_way_to_the_narrowest_it_may(
    placements: set[Placement], chosen: Placement
) -> None:
    assert placement_for(PolicySpec(), model(), key(placements=frozenset(placements)), None) is chosen


def test_a_lock_a_key_may_not_use_is_refused() -> None:
    found = placement_for(
        PolicySpec(NODES_FIRST, placement_lock=True), model(), key(placements=frozenset({CLOUD_ONLY})), None
    )

    assert code(found) == ErrorCode.PLACEMENT_LOCKED


def test_a_key_that_may_use_no_placement_is_refused() -> None:
    assert (
        code(placement_for(PolicySpec(), model(), key(placements=frozenset()), None)) == ErrorCode.PLACEMENT_LOCKED
    )


FORCED = PolicySpec(force_cloud=True)


@pytest.mark.parametrize("wish", [None, NODES_FIRST, CLOUD_FIRST, CLOUD_ONLY])
def test_the_incident_toggle_sends_everybody_to_the_cloud(wish: Placement | None) -> None:
    assert placement_for(FORCED, model(), key(), wish) is CLOUD_ONLY


@pytest.mark.parametrize(
    ("entry", "rights", "wish"),
    [
        (model(), {}, NODES_ONLY),
        (model(), {"placement": NODES_ONLY}, None),
        (model(), {"placements": frozenset({NODES_ONLY})}, None),
        (model(NODES_ONLY), {}, None),
        (model(NODES_ONLY, lock=True), {}, None),
        (chain(), {"placement": NODES_ONLY}, None),
        (chain(), {}, NODES_ONLY),
    ],
)
def test_the_incident_toggle_never_takes_a_nodes_only_call_to_the_cloud(
    entry: Model | Chain, rights: dict[str, Any], wish: Placement | None
) -> None:
    found = placement_for(FORCED, entry, key(**rights), wish)

    assert isinstance(found, Problem)
    assert found.code == ErrorCode.NO_NODE_AVAILABLE
    assert found.retry_after_s is not None


@pytest.mark.parametrize(
    ("entry", "rights", "wishes"),
    [
        (model(), {}, (NODES_FIRST, None, NODES_ONLY)),
        (model(), {"placement": NODES_ONLY}, (CLOUD_FIRST,)),
        (model(NODES_ONLY), {}, (NODES_FIRST,)),
    ],
)
def test_the_incident_toggle_hears_also_who_is_overruled_by_others(
    entry: Model, rights: dict[str, Any], wishes: tuple[Placement | None, ...]
) -> None:
    assert code(placement_for(FORCED, entry, key(**rights), *wishes)) == ErrorCode.NO_NODE_AVAILABLE
    assert placement_for(PolicySpec(), entry, key(**rights), *wishes) is wishes[0]


@pytest.mark.parametrize("entry", [model(), chain()])
def test_the_incident_toggle_overrides_the_global_default_alone(entry: Model | Chain) -> None:
    nodes_only = PolicySpec(NODES_ONLY, force_cloud=True)

    assert placement_for(nodes_only, entry, key(), None) is CLOUD_ONLY


PLACEMENTS = st.sampled_from(Placement)
MODELS = {(one, lock): model(one, lock=lock) for one in (None, *Placement) for lock in (False, True)}
POLICIES = st.builds(PolicySpec, placement=PLACEMENTS, placement_lock=st.booleans(), force_cloud=st.booleans())
KEYS = st.builds(
    key,
    placement=st.none() | PLACEMENTS,
    placement_lock=st.booleans(),
    placements=st.none() | st.frozensets(PLACEMENTS, min_size=1),
)


@given(POLICIES, st.sampled_from(list(MODELS)), KEYS, st.none() | PLACEMENTS)
def test_a_client_gets_what_it_asks_for_or_an_error(
    policy: PolicySpec, which: tuple[Placement | None, bool], rights: ClientKey, wish: Placement | None
) -> None:
    found = placement_for(policy, MODELS[which], rights, wish)

    if wish is not None and isinstance(found, Placement):
        assert found is (CLOUD_ONLY if policy.force_cloud else wish)
    if wish is NODES_ONLY and isinstance(found, Placement):
        assert not policy.force_cloud
    if isinstance(found, Placement) and not policy.force_cloud and rights.placements is not None:
        assert found in rights.placements


@given(POLICIES, KEYS, st.none() | PLACEMENTS)
def test_no_wish_takes_a_model_locked_to_nodes_only_to_the_cloud(
    policy: PolicySpec, rights: ClientKey, wish: Placement | None
) -> None:
    found = placement_for(policy, MODELS[NODES_ONLY, True], rights, wish)

    assert found is NODES_ONLY or isinstance(found, Problem)
