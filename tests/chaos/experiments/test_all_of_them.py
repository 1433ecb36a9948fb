"""Experiments find what is not as promised: expectations are broken in journals of runs that never were."""

from collections.abc import Callable

import pytest

from chaos.experiments.all_of_them import EXPERIMENTS
from chaos.experiments.experiment import Broken, Expected
from chaos.stand.client_keys import STRANGER
from sim.registry.failures import FAILURES
from tests.chaos.experiments.story import RunStory

Tell = Callable[[RunStory], None]


def of(name: str, broken: Broken) -> dict[str, bool]:
    held: dict[str, bool] = {}
    for one in EXPERIMENTS[name].expects(broken):
        assert isinstance(one, Expected)
        held[one.id] = one.holds and held.get(one.id, True)
    return held


def redis_is_down(story: RunStory) -> None:
    story.call(1.0, "error", status=429, code="rate_limit_exceeded", key="rated")
    for at in (12.0, 13.0):
        story.call(at, by="cloud-a")
        story.call(at, "error", status=503, code="node_state_unknown", placement="nodes_only")
        story.call(at, by="cloud-a", key="rated", placement="cloud_only")
        story.ready(at, 200, "degraded")
    story.call(24.0, by="node-0", placement="nodes_only")


def test_every_experiment_proves_ids_that_there_are_and_expects_something_of_each() -> None:
    for name, experiment in EXPERIMENTS.items():
        assert set(experiment.ids) <= FAILURES.keys(), name
        assert set(of(name, RunStory().over())) == set(experiment.ids), name


def test_nothing_holds_of_a_run_in_which_nothing_happened() -> None:
    for name in EXPERIMENTS:
        assert not any(of(name, RunStory().over()).values()), name


def test_an_outage_of_redis_that_went_as_promised_holds() -> None:
    story = RunStory()
    redis_is_down(story)
    assert set(of("redis-down", story.over()).values()) == {True}


@pytest.mark.parametrize(
    ("name", "tell"),
    [
        ("FR1", lambda story: story.call(14.0, "error", status=429, key="rated", placement="cloud_only")),
        ("FR5", lambda story: story.call(14.0, "error", status=503, code="no_node_available")),
        ("FR6", lambda story: story.call(14.0, "error", status=502, placement="nodes_only")),
        ("FR6", lambda story: story.call(14.0, by="cloud-a", placement="nodes_only")),
        ("FR10", lambda story: story.call(25.0, "error", status=503, placement="nodes_only")),
        ("FR14", lambda story: story.ready(15.0, 503, "unready")),
    ],
)
def test_each_broken_promise_of_an_outage_of_redis_is_found(name: str, tell: Tell) -> None:
    story = RunStory()
    redis_is_down(story)
    tell(story)
    assert [id_ for id_, holds in of("redis-down", story.over()).items() if not holds] == [name]


def test_a_key_that_is_refused_while_postgres_is_away_is_found() -> None:
    story = RunStory()
    story.call(12.0)
    story.call(12.0, "error", status=503, code="auth_unavailable", key=STRANGER)
    story.ready(17.0, 200, "degraded")
    story.ready(30.0)
    story.call(30.0, "error", status=401, code="invalid_api_key", key=STRANGER)
    assert set(of("postgres-down", story.over()).values()) == {True}
    story.call(13.0, "error", status=401, code="invalid_api_key", key=STRANGER)
    assert not of("postgres-down", story.over())["FP2"]


def test_a_call_that_is_booked_nowhere_is_found() -> None:
    story = RunStory()
    story.call(12.0)
    assert not of("ledger-killed", story.over())["FL4"]


def test_a_stream_that_breaks_off_elsewhere_is_found() -> None:
    story = RunStory()
    story.call(12.0, "error_event", by="node-0")
    assert set(of("node-cut", story.over()).values()) == {True}
    story.call(13.0, "error_event", by="node-1")
    assert set(of("node-cut", story.over()).values()) == {False}


def test_figures_of_an_outage_of_postgres_are_of_known_keys() -> None:
    story = RunStory()
    story.call(12.0, "error", status=503, code="auth_unavailable")
    story.call(12.0, "error", status=503, code="auth_unavailable", key=STRANGER)
    story.call(20.0, took_s=3.0)
    over, figures = story.over(), (EXPERIMENTS["postgres-down"].figure, EXPERIMENTS["postgres-hung"].figure)
    assert [figure.of(over) for figure in figures if figure is not None] == [1.0, 3.0]
