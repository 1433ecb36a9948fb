"""Faults as worlds feel them: who is struck, who is not, and what is noted."""

from sim.draft import CallDraft, Draft, Level
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
