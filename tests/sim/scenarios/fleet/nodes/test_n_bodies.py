"""Bugs of what a client may write to an engine through a gateway, played in worlds: N26, N30."""

from dataclasses import replace

import pytest

from sim.draft import CallDraft, Draft, Engine, Habit, Level
from sim.scenarios.fleet.nodes.reading import nodes_of
from sim.scenarios.showing import stories
from tests.sim.scenarios.fleet.nodes.n_worlds import asked_of, calls, nodes, played, seeds

OPTIONS: dict[str, tuple[tuple[str, object], ...]] = {
    "options": (("options", {"num_ctx": 4096}),),
    "num_ctx": (("num_ctx", 4096),),
    "keep_alive": (("keep_alive", 0),),
}

PATHS = frozenset({("GET", "/v1/models"), ("GET", "/metrics"), ("POST", "/v1/chat/completions")})
"""All that a machine of ours is asked by where clients chat."""

ODD = (
    "http://x/v1/chat/completions",
    "http://node-0:8000/v1/chat/completions",
    "//v1/chat/completions",
    "/v1%2Fchat%2Fcompletions",
    "/v1/%2e%2e/api/delete",
    "/v1/chat/completions/../../../api/delete",
    "/v1/chat/completions/",
    "/api/delete",
)


@seeds
@pytest.mark.parametrize("level", list(Level), ids=lambda level: level.name.lower())
@pytest.mark.parametrize("engine", [Engine.OLLAMA, Engine.AGENT])
@pytest.mark.parametrize("option", OPTIONS)
def test_n26_no_option_of_a_body_has_a_model_loaded_anew(
    seed: int, level: Level, engine: Engine, option: str
) -> None:
    lone = nodes(1, engine=engine, window=32_768, habits=(Habit.HEEDS_OPTIONS,))
    plain = calls(20, 2.0, tokens=5)
    made = tuple(replace(call, more=OPTIONS[option]) if at % 4 == 1 else call for at, call in enumerate(plain))
    journal = played(Draft(nodes=lone, calls=made), seed, level)
    assert [*journal.of("model_gone")] == []
    told = stories(journal)
    assert {story.answered_by for story in told} == {"node-0"}
    assert max(story.call.over_at - story.call.sent_at for story in told) < 10.0


@seeds
@pytest.mark.parametrize("path", ODD)
def test_n30_no_spelling_of_a_request_target_reaches_a_machine(seed: int, path: str) -> None:
    odd = tuple(CallDraft(at_s=2.0 + at, path=path, tokens=5) for at in range(3))
    usual = tuple(replace(call, at_s=2.5 + call.at_s) for call in calls(3, 1.0, tokens=5))
    journal = played(Draft(nodes=nodes(2, engine=Engine.OLLAMA), calls=(*odd, *usual)), seed, Level.WIRE)
    told = {story.call.name: story for story in stories(journal)}
    for name in ("0", "1", "2"):
        assert told[name].call.status in {400, 404}
        assert told[name].asked == ()
    assert [told[name].answered_by.startswith("node-") for name in ("3", "4", "5")] == [True] * 3
    seen = {
        (fact.text("method"), fact.text("path"))
        for fact in journal.of("path_seen")
        if fact.text("target") in nodes_of(journal)
    }
    assert seen <= PATHS
    assert sum(len(asked_of(journal, node)) for node in nodes_of(journal)) == 3
