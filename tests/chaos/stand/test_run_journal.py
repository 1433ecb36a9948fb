"""The journal of a run on real time."""

from datetime import UTC, datetime

from chaos.stand.run_journal import RunJournal


def test_a_fact_is_noted_at_the_moment_of_its_noting() -> None:
    journal = RunJournal()
    before = journal.now_s
    fact = journal.note("host_up", "gw1")
    assert before <= fact.at <= journal.now_s


def test_a_late_fact_has_its_own_moment_and_those_after_it_have_theirs() -> None:
    journal = RunJournal()
    assert journal.note_at(-3.0, "host_up", "gw1").at == -3.0
    assert journal.note("host_up", "gw2").at >= 0


def test_what_is_settled_is_in_the_order_of_moments() -> None:
    journal = RunJournal()
    journal.note("host_up", "gw1")
    journal.note_at(-1.0, "host_up", "gw2")
    assert [fact.host for fact in journal.settled().of("host_up")] == ["gw2", "gw1"]


def test_facts_of_one_moment_stay_in_the_order_in_which_they_were_noted() -> None:
    journal = RunJournal()
    for host in ("gw3", "gw1", "gw2"):
        journal.note_at(1.0, "host_up", host)
    assert [fact.host for fact in journal.settled().facts] == ["gw3", "gw1", "gw2"]


def test_wall_time_becomes_time_of_the_run() -> None:
    journal = RunJournal()
    moment = journal.of_wall(datetime.now(UTC).timestamp())
    assert abs(moment - journal.now_s) < 1.0
