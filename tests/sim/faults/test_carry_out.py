"""Faults as worlds feel them: who is struck, who is not, and what is noted."""

import pytest

from sim.draft import CallDraft, Draft, Engine, Level, NodeDraft
from sim.edit import Edit
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.run import run
from tests.sim.worlds import plain

AT_S = 5.0


def after(fault: Fault) -> Journal:
    """The journal of two replicas, each called while the fault is on."""
    calls = tuple(CallDraft(at_s=AT_S, gateway=number, placement="cloud_only") for number in range(2))
    done = run(plain(draft=Draft(replicas=2, calls=calls, faults=(fault,), runs_s=30.0)), 1)
    assert done.outcome.ok, done.outcome
    return done.journal


def attempts(journal: Journal, host: str) -> list[str]:
    return [fact.text("attempts") for fact in journal.of("record") if fact.host == host and fact.at < 100]


def test_a_partition_parts_one_replica_from_one_target() -> None:
    journal = after(Fault("partition", "gw1>cloud-a", 1.0, 20.0))
    assert attempts(journal, "gw1") == ["cloud-a/=connect_timeout|cloud-b/=ok"]
    assert attempts(journal, "gw2") == ["cloud-a/=ok"]
    assert journal.has("fault", fault="partition", target="cloud-a", gateway="gw1", on=True)
    assert journal.has("fault_active", id="FV2", target="cloud-a")


def test_a_refusal_strikes_every_replica() -> None:
    journal = after(Fault("refuse", "cloud-a", 1.0, 20.0))
    for host in ("gw1", "gw2"):
        assert attempts(journal, host) == ["cloud-a/=refused|cloud-b/=ok"]


def test_a_fault_of_what_is_not_there_was_never_active() -> None:
    draft = Draft(calls=(CallDraft(at_s=AT_S),), runs_s=10.0)
    gone = Edit(faults=(Fault("crash", "gw9", 1.0, 2.0), Fault("partition", "gw1>cloud-z", 1.0, 2.0)))
    done = run(plain(draft=draft), 1, gone)
    assert (done.outcome.ok, done.outcome.active) == (True, ())


def test_the_same_fault_drawn_twice_ends_twice() -> None:
    twice = (Fault("postgres_away", "", 0.0, 1.0),) * 2
    done = run(plain(draft=Draft(calls=(CallDraft(at_s=AT_S),), faults=twice, runs_s=30.0)), 1)
    assert done.outcome.ok, done.outcome
    assert [fact.members["on"] for fact in done.journal.of("fault")] == [True, True, False, False]


def test_a_world_in_which_nobody_could_answer_is_no_empty_world() -> None:
    away = (Fault("postgres_away", "", 0.0, 1.0),)
    draft = Draft(level=Level.PORTS, calls=(CallDraft(at_s=0.0),), faults=away, runs_s=30.0)
    assert run(plain(draft=draft), 1).outcome.ok


def on_a_node(kind: str, amount: float = 0.0, *, engine: Engine = Engine.AGENT, nodes: int = 1) -> Journal:
    """The journal of a node that this befalls, with a vendor behind it; calls come before, meanwhile and after."""
    drafts = tuple(NodeDraft(f"node-{number}", engine, slots=2) for number in range(nodes))
    calls = tuple(CallDraft(at_s=at_s) for at_s in (1.0, 15.0, 16.0, 32.0))
    fault = Fault(kind, "node-0", 5.0, 20.0, amount)
    done = run(plain(draft=Draft(nodes=drafts, calls=calls, faults=(fault,), runs_s=40.0)), 1)
    assert done.outcome.ok, done.outcome
    return done.journal


def test_a_node_that_drains_takes_no_new_call() -> None:
    journal = on_a_node("draining")
    assert attempts(journal, "gw1") == [
        "local/node-0=ok",
        *["local/node-0=draining|cloud-a/=ok"] * 2,
        "local/node-0=ok",
    ]
    assert journal.has("fault_active", id="FN3", target="node-0")


def test_a_node_without_its_model_in_memory_loads_it_beside() -> None:
    journal = on_a_node("evicted", 12.0)
    assert attempts(journal, "gw1")[1:3] == ["local/node-0=cold|cloud-a/=ok"] * 2
    assert journal.has("log", name="model_loading")
    assert [fact.kind for fact in journal.of("model_gone", "model_loaded")] == ["model_gone", "model_loaded"]


def test_a_machine_that_is_switched_off_comes_back() -> None:
    journal = on_a_node("power_off")
    first, *meanwhile, last = attempts(journal, "gw1")
    assert (first, last) == ("local/node-0=ok", "local/node-0=ok")
    assert all(each.endswith("cloud-a/=ok") for each in meanwhile)
    assert journal.has("fault_active", id="FN1", target="node-0")


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize(("kind", "amount"), [("redis_away", 0.0), ("redis_hung", 0.0), ("redis_slow", 2.0)])
def test_without_the_store_nodes_are_passed_over(level: Level, kind: str, amount: float) -> None:
    calls = tuple(CallDraft(at_s=at_s) for at_s in (1.0, 8.0, 25.0))
    draft = Draft(
        level=level,
        nodes=(NodeDraft("node-0"),),
        calls=calls,
        faults=(Fault(kind, "", 5.0, 10.0, amount),),
        runs_s=40.0,
    )
    done = run(plain(draft=draft), 1)
    assert done.outcome.ok, done.outcome
    assert attempts(done.journal, "gw1") == ["local/node-0=ok", "local/=unknown|cloud-a/=ok", "local/node-0=ok"]


@pytest.mark.parametrize("level", Level)
def test_a_store_that_forgot_everything_grants_nothing_for_a_while(level: Level) -> None:
    draft = Draft(
        level=level,
        nodes=(NodeDraft("node-0", slots=1, token_s=0.1),),
        calls=(CallDraft(at_s=1.0, tokens=150), *(CallDraft(at_s=at_s) for at_s in (6.0, 12.0, 25.0))),
        faults=(Fault("redis_empty", "", 5.0),),
        runs_s=40.0,
    )
    done = run(plain(draft=draft), 1)
    assert done.outcome.ok, done.outcome
    told = attempts(done.journal, "gw1")
    assert told[0] in ("local/=unknown|cloud-a/=ok", "local/node-0=busy|cloud-a/=ok")
    assert sorted(told[1:]) == ["local/node-0=busy|cloud-a/=ok", "local/node-0=ok", "local/node-0=ok"]
    assert done.journal.has("lease_renewed", how="regained")


def test_a_replica_that_is_cut_off_from_redis_is_alone_in_it() -> None:
    calls = tuple(CallDraft(at_s=at_s, gateway=number) for at_s in (8.0, 25.0) for number in range(2))
    draft = Draft(
        replicas=2, nodes=(NodeDraft("node-0"),), calls=calls, faults=(Fault("redis_cut", "gw1", 5.0, 10.0),)
    )
    done = run(plain(draft=draft), 1)
    assert done.outcome.ok, done.outcome
    assert attempts(done.journal, "gw1") == ["local/=unknown|cloud-a/=ok", "local/node-0=ok"]
    assert attempts(done.journal, "gw2") == ["local/node-0=ok"] * 2
