"""The agents of machines that join: what becomes of what they announce, at both levels of a world."""

import pytest

from sim.draft import AgentDraft, CallDraft, Draft, Engine, Level, NodeDraft
from sim.run import Run, run
from sim.scenarios.scenario import Scenario, nothing_special

NEW = NodeDraft("node-0", engine=Engine.AGENT, joins=True)
OLD = NodeDraft("old-0", engine=Engine.AGENT, joins=True)


def joined(level: Level, *agents: AgentDraft, calls: tuple[CallDraft, ...] = ()) -> Run:
    draft = Draft(level=level, nodes=(NEW, OLD), agents=agents, calls=calls, runs_s=30.0)
    done = run(Scenario("joined", "a world with agents", (), lambda _: draft, nothing_special), 1)
    assert done.outcome.ok, done.outcome
    return done


@pytest.mark.parametrize("level", Level)
def test_a_machine_that_nobody_declared_answers_once_it_was_announced(level: Level) -> None:
    late = CallDraft(at_s=10.0, placement="nodes_only")
    done = joined(level, AgentDraft("node-0", "node-0", at_s=5.0), calls=(CallDraft(at_s=2.0), late))
    answered = [fact.text("target") for fact in done.journal.of("asked") if fact.members["call"] in ("0", "1")]
    assert [name.partition("-")[0] for name in answered] == ["cloud", "node"]


@pytest.mark.parametrize("level", Level)
def test_an_older_agent_of_the_same_node_is_refused(level: Level) -> None:
    done = joined(
        level,
        AgentDraft("node-0", "node-0"),
        AgentDraft("old-0", "node-0", at_s=2.0, started_s=-60.0),
    )
    told = {(fact.text("machine"), fact.members["status"]) for fact in done.journal.of("announced")}
    assert told == {("node-0", 200), ("old-0", 409)}
