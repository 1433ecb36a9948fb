"""How long each phase may take."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.capacity.speed import Speed
from ktms.domain.catalogue import (
    Catalogue,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    TargetSpec,
    TimeoutSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.routing.timers import Timers, cloud_timers, node_timers, overridden
from ktms.domain.snapshot import CloudTarget, Model

UNSAID = TimeoutSpec()
OWN = TimeoutSpec(connect_s=0.5, first_token_s=7.0, idle_s=8.0, total_s=90.0)


def made(vendor: TimeoutSpec = UNSAID, model: TimeoutSpec = UNSAID) -> tuple[CloudTarget, Model]:
    snapshot = compile_snapshot(
        Catalogue(
            vendors=(VendorSpec("openai", VendorKind.OPENAI, "https://api.openai.com/v1", timeouts=vendor),),
            nodes=(NodeSpec("mac-1", "http://10.0.0.7:8790", (NodeModelSpec("qwen3:4b"),)),),
            models=(
                ModelSpec("m", (TargetSpec("local", "qwen3:4b"), TargetSpec("openai", "gpt")), timeouts=model),
            ),
        ),
        version=1,
    )
    [one] = snapshot.models
    return one.cloud[0], one


def cloud(*, streamed: bool, vendor: TimeoutSpec = UNSAID, model: TimeoutSpec = UNSAID) -> Timers:
    target, one = made(vendor, model)
    return cloud_timers(target, one, streamed=streamed)


def node(
    *,
    streamed: bool,
    max_tokens: int | None = None,
    model: TimeoutSpec = UNSAID,
    speed: Speed | None = None,
    uncached_tokens: int = 0,
) -> Timers:
    _, one = made(model=model)
    return node_timers(one, streamed=streamed, max_tokens=max_tokens, speed=speed, uncached_tokens=uncached_tokens)


def test_the_cloud_has_the_documented_times() -> None:
    assert cloud(streamed=True) == Timers(2.0, 5.0, 60.0, 45.0, 600.0)


def test_a_whole_answer_of_the_cloud_may_take_longer_to_begin() -> None:
    assert cloud(streamed=False) == Timers(2.0, 5.0, 300.0, 45.0, 600.0)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_vendors_own_times_win(streamed: bool) -> None:
    assert cloud(streamed=streamed, vendor=OWN) == Timers(2.0, 0.5, 7.0, 8.0, 90.0)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_models_own_times_win_over_its_vendors(streamed: bool) -> None:
    found = cloud(streamed=streamed, vendor=OWN, model=TimeoutSpec(first_token_s=3.0))

    assert found == Timers(2.0, 0.5, 3.0, 8.0, 90.0)


def test_no_phase_outlives_the_whole() -> None:
    assert cloud(streamed=False, vendor=TimeoutSpec(total_s=20.0)).first_token_s == 20.0


def test_a_node_of_unknown_speed_has_the_documented_times() -> None:
    assert node(streamed=True) == Timers(1.0, 1.0, 30.0, 30.0, 600.0)


def test_a_known_speed_gives_four_times_the_reading_and_ten_seconds() -> None:
    found = node(streamed=True, speed=Speed(500.0, 50.0), uncached_tokens=1000)

    assert found.first_token_s == 18.0


def test_the_first_token_of_a_node_takes_two_minutes_at_most() -> None:
    assert node(streamed=True, speed=Speed(10.0, 50.0), uncached_tokens=10_000).first_token_s == 120.0


def test_a_whole_answer_of_a_node_takes_reading_and_twice_the_writing() -> None:
    found = node(streamed=False, max_tokens=1000, speed=Speed(500.0, 50.0), uncached_tokens=1000)

    assert found.first_token_s == 10.0 + 8.0 + 40.0


@pytest.mark.parametrize(("max_tokens", "first_token_s"), [(100, 70.0), (None, 439.6), (100_000, 600.0)])
def test_a_whole_answer_of_unknown_speed_is_given_that_of_a_slow_machine(
    max_tokens: int | None, first_token_s: float
) -> None:
    assert node(streamed=False, max_tokens=max_tokens).first_token_s == pytest.approx(first_token_s)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_models_own_times_win_on_nodes_too(streamed: bool) -> None:
    assert node(streamed=streamed, model=OWN) == Timers(1.0, 0.5, 7.0, 8.0, 90.0)


@pytest.mark.parametrize(("prefill", "decode"), [(0.0, 1.0), (1.0, 0.0)])
def test_a_speed_of_nothing_is_our_own_mistake(prefill: float, decode: float) -> None:
    with pytest.raises(AssertionError):
        Speed(prefill, decode)


SECONDS = st.none() | st.floats(min_value=0.1, max_value=3600.0)
SPECS = st.builds(TimeoutSpec, SECONDS, SECONDS, SECONDS, SECONDS)


@given(SPECS, SPECS)
def test_what_the_upper_one_says_holds_and_the_lower_one_fills_in(lower: TimeoutSpec, upper: TimeoutSpec) -> None:
    found = overridden(lower, upper)

    for name in ("connect_s", "first_token_s", "idle_s", "total_s"):
        own = getattr(upper, name)
        assert getattr(found, name) == (getattr(lower, name) if own is None else own)


@given(SPECS, st.booleans(), st.none() | st.integers(0, 1_000_000), st.integers(0, 1_000_000))
def test_timers_are_always_above_nothing_and_within_the_whole(
    spec: TimeoutSpec, streamed: bool, max_tokens: int | None, uncached_tokens: int
) -> None:
    found = node(
        streamed=streamed,
        max_tokens=max_tokens,
        model=spec,
        speed=Speed(0.001, 0.001),
        uncached_tokens=uncached_tokens,
    )

    assert min(found.pool_s, found.connect_s, found.first_token_s, found.idle_s, found.total_s) > 0
    assert found.first_token_s <= found.total_s


def test_a_target_may_be_asked_with_timers_of_its_own() -> None:
    target, one = made()
    slow = replace(target, timeouts=TimeoutSpec(idle_s=100.0))

    assert cloud_timers(slow, one, streamed=True).idle_s == 100.0
