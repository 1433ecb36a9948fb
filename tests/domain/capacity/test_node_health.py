"""The table of a node's health: what each piece of evidence does to each state, and the panic rule."""

import pytest

from ktms.domain.capacity.node_health import (
    FAILURES_MAX,
    MISSES_MAX,
    TOKEN_PROBE_EVERY_S,
    TOKEN_PROBE_MAX_S,
    Evidence,
    NodeHealth,
    believed,
)
from ktms.domain.capacity.seat import Health

FAILURES = (Evidence.CONNECT_FAILED, Evidence.SERVER_ERROR, Evidence.FIRST_TOKEN_TIMEOUT, Evidence.CUT)


def node(*evidence: Evidence, streams: int = 0) -> NodeHealth:
    health = NodeHealth()
    for at, one in enumerate(evidence, start=1):
        health.note(one, float(at), streams=streams)
    return health


@pytest.mark.parametrize("failure", FAILURES)
def test_one_failure_makes_a_node_suspect(failure: Evidence) -> None:
    assert node(failure).health is Health.SUSPECT


@pytest.mark.parametrize("failure", FAILURES)
def test_three_failures_in_a_row_take_it_down(failure: Evidence) -> None:
    assert node(*[failure] * FAILURES_MAX).health is Health.DOWN


def test_a_token_between_failures_begins_the_count_anew() -> None:
    assert node(Evidence.CUT, Evidence.CUT, Evidence.TOKEN, Evidence.CUT).health is Health.SUSPECT


def test_first_tokens_heal_but_do_not_pay_for_answers_that_break_off() -> None:
    assert node(Evidence.CUT, Evidence.HEARTBEAT).health is Health.HEALTHY
    assert node(*[Evidence.HEARTBEAT, Evidence.CUT] * FAILURES_MAX).health is Health.DOWN


@pytest.mark.parametrize("ill", [1, FAILURES_MAX])
def test_a_generated_token_heals(ill: int) -> None:
    assert node(*[Evidence.CUT] * ill, Evidence.TOKEN).health is Health.HEALTHY


@pytest.mark.parametrize("proof", [Evidence.ANSWERED, Evidence.PROBE_ANSWERED, Evidence.LOADING])
def test_n13_nothing_but_a_token_heals(proof: Evidence) -> None:
    assert node(Evidence.FIRST_TOKEN_TIMEOUT, *[proof] * 20).health is Health.SUSPECT


def test_missed_looks_take_an_idle_node_down() -> None:
    assert node(*[Evidence.PROBE_MISSED] * MISSES_MAX).health is Health.DOWN


def test_fewer_missed_looks_do_not() -> None:
    assert node(*[Evidence.PROBE_MISSED] * (MISSES_MAX - 1)).health is Health.HEALTHY


@pytest.mark.parametrize("proof", [Evidence.ANSWERED, Evidence.PROBE_ANSWERED, Evidence.LOADING, Evidence.TOKEN])
def test_missed_looks_count_only_in_a_row(proof: Evidence) -> None:
    missed = [Evidence.PROBE_MISSED] * (MISSES_MAX - 1)
    assert node(*missed, proof, *missed).health is Health.HEALTHY


def test_n15_a_live_stream_is_proof_of_life() -> None:
    assert node(*[Evidence.PROBE_MISSED] * 20, streams=1).health is Health.HEALTHY


def test_n16_a_refusal_says_alive() -> None:
    assert node(*[Evidence.ANSWERED] * 20).health is Health.HEALTHY


@pytest.mark.parametrize("before", [(), (Evidence.CUT,), (Evidence.CUT,) * FAILURES_MAX])
def test_a_node_that_refuses_our_token_is_barred_however_it_did_before(before: tuple[Evidence, ...]) -> None:
    health = node(*before, *[Evidence.TOKEN_REFUSED] * 20)
    assert health.health is Health.BARRED
    assert health.since == len(before) + 1


@pytest.mark.parametrize("token", [Evidence.TOKEN, Evidence.HEARTBEAT])
def test_a_token_heals_a_barred_node_and_nothing_less_does(token: Evidence) -> None:
    seen = (Evidence.TOKEN_REFUSED, Evidence.ANSWERED, Evidence.PROBE_ANSWERED, Evidence.CUT)
    assert node(*seen).health is Health.BARRED
    assert node(*seen, token).health is Health.HEALTHY


def test_a_refused_token_is_no_failure_and_no_missed_look() -> None:
    missed = [Evidence.PROBE_MISSED] * (MISSES_MAX - 1)
    assert node(Evidence.CUT, Evidence.TOKEN_REFUSED, Evidence.CUT).health is Health.BARRED
    assert node(*missed, Evidence.TOKEN_REFUSED, *missed).health is Health.BARRED


@pytest.mark.parametrize("failure", [Evidence.CUT, Evidence.PROBE_MISSED])
def test_a_barred_node_goes_down_as_others_do(failure: Evidence) -> None:
    assert node(Evidence.TOKEN_REFUSED, *[failure] * 3).health is Health.DOWN


def test_a_barred_node_is_asked_for_a_token_after_a_pause() -> None:
    health = node(Evidence.TOKEN_REFUSED)
    assert not health.wants_token(1 + TOKEN_PROBE_EVERY_S - 0.1)
    assert health.wants_token(1 + TOKEN_PROBE_EVERY_S)


def test_n17_loading_is_no_failure_and_ends_with_a_token() -> None:
    health = node(*[Evidence.LOADING] * 20)
    assert (health.health, health.loading) == (Health.HEALTHY, True)
    health.note(Evidence.TOKEN, 30.0)
    assert not health.loading


def test_a_node_that_is_down_stays_so_after_one_more_failure() -> None:
    assert node(*[Evidence.PROBE_MISSED] * MISSES_MAX, Evidence.CUT).health is Health.DOWN


def test_it_tells_since_when_it_is_as_it_is() -> None:
    assert node(Evidence.CUT, Evidence.CUT, Evidence.PROBE_ANSWERED).since == 1


def test_a_healthy_node_wants_no_token() -> None:
    assert not node(Evidence.TOKEN).wants_token(100)


def test_a_suspect_node_is_asked_for_a_token_after_a_pause() -> None:
    health = node(Evidence.CUT)
    assert not health.wants_token(1 + TOKEN_PROBE_EVERY_S - 0.1)
    assert health.wants_token(1 + TOKEN_PROBE_EVERY_S)


def test_the_pause_between_token_looks_grows_to_its_limit() -> None:
    health, now, pauses = node(*[Evidence.CUT] * FAILURES_MAX), 100.0, []
    for _ in range(8):
        health.token_asked(now)
        pause = next(second for second in range(1000) if health.wants_token(now + second))
        pauses.append(pause)
        now += pause
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (TOKEN_PROBE_EVERY_S, TOKEN_PROBE_MAX_S)


def test_most_of_a_fleet_turning_bad_at_once_is_not_believed() -> None:
    assert not believed([Health.HEALTHY] * 5, [Health.DOWN] * 3 + [Health.HEALTHY] * 2)


def test_a_minority_turning_bad_is_believed() -> None:
    assert believed([Health.HEALTHY] * 5, [Health.DOWN] * 2 + [Health.HEALTHY] * 3)


def test_those_that_were_bad_before_do_not_count() -> None:
    assert believed([Health.DOWN] * 4 + [Health.HEALTHY], [Health.DOWN] * 5)


def test_losing_most_of_those_that_were_up_is_not_believed_either() -> None:
    assert not believed([Health.DOWN] * 5 + [Health.HEALTHY] * 3, [Health.DOWN] * 8)


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_fleet_without_a_majority_is_believed(nodes: int) -> None:
    assert believed([Health.HEALTHY] * nodes, [Health.DOWN] * nodes)


def test_a_node_that_announced_itself_anew_is_to_be_asked_at_once_and_no_better_for_it() -> None:
    health = node(*[Evidence.CUT] * FAILURES_MAX)
    for _ in range(8):
        health.token_asked(100.0)
    assert not health.wants_token(101.0)
    health.came_back(101.0)
    assert (health.health, health.wants_token(101.0)) == (Health.DOWN, True)
    health.token_asked(101.0)
    assert health.wants_token(101.0 + TOKEN_PROBE_EVERY_S)
