from sim.journal.fact import Fact, Value
from sim.journal.vocabulary import KINDS
from sim.timeline import STORY, Tone, events


def fact(kind: str, at: float = 1000.0, host: str = "gw1", **members: Value) -> Fact:
    return Fact(at, kind, host, members)


def ended(outcome: str) -> Fact:
    return fact("call_ended", call="3", outcome=outcome, status=200, code="", text="hi", events=4, request_id="r")


def texts(*facts: Fact, everything: bool = False) -> list[str]:
    return [event.text for event in events(facts, everything=everything)]


def test_times_count_from_the_first_fact() -> None:
    told = events([fact("phase", 1000.0, name="faults"), fact("phase", 1002.5, name="heal")])
    assert [event.at_s for event in told] == [0.0, 2.5]


def test_a_fault_tells_that_it_begins_and_ends() -> None:
    facts = [fact("fault", fault="cut", target="cloud-a", on=on, amount=3.0) for on in (True, False)]
    assert texts(*facts) == [
        "fault cut begins target=cloud-a amount=3.0",
        "fault cut ends target=cloud-a amount=3.0",
    ]


def test_faults_and_calls_are_told_apart() -> None:
    facts = [fact("fault", fault="cut", target="", on=True), ended("done"), ended("cut")]
    assert [event.tone for event in events(facts)] == [Tone.FAULT, Tone.CALL, Tone.WRONG]


def test_a_story_leaves_out_what_is_only_for_checkers() -> None:
    assert texts(fact("setting", name="idle_s", value=45.0), fact("gauge", name="x", label="", value=1)) == []


def test_everything_means_every_fact() -> None:
    facts = [
        fact("setting", name="idle_s", value=45.0),
        fact("keys_asked", ids="a", answer="found"),
        fact("log", level="info", name="started", text=""),
    ]
    assert texts(*facts, everything=True) == [
        "setting name=idle_s value=45.0",
        "keys_asked ids=a answer=found",
        "log level=info name=started",
    ]


def test_a_look_up_is_told_only_when_it_failed() -> None:
    facts = [fact("keys_asked", ids="a", answer=answer) for answer in ("found", "away")]
    assert texts(*facts) == ["look-up of keys: away"]


def test_readiness_is_told_when_it_changes() -> None:
    facts = [
        fact("readyz", status=status, ready=status == 200, state="", reasons="") for status in (200, 200, 503, 503)
    ]
    assert texts(*facts) == ["readyz status=200", "readyz status=503"]


def test_a_long_text_is_cut_and_its_length_told() -> None:
    (text,) = texts(fact("log", level="error", name="x", text="a" * 500))
    assert text.endswith("… (500 signs)")


def test_every_kind_of_the_story_is_in_the_vocabulary() -> None:
    assert STORY.keys() - KINDS.keys() == set()


def listen(at: float, host: str = "gw1", operation: str = "listen") -> Fact:
    return fact("dependency_failed", at, host, dependency="postgres", operation=operation, failure="away")


def heal(at: float) -> Fact:
    return fact("phase", at, "world", name="heal")


FAILED = "dependency failed dependency=postgres operation=listen failure=away"


def test_what_repeats_on_a_host_is_folded_into_its_first_line() -> None:
    assert texts(listen(1), listen(2), listen(3)) == [f"{FAILED} … 2 more until 2.0 s"]


def test_what_repeats_is_folded_across_others_that_happen_meanwhile() -> None:
    told = texts(listen(1), listen(1.5, operation="find_keys"), ended("done"), listen(2), listen(3))
    assert (told[0], len(told)) == (f"{FAILED} … 2 more until 2.0 s", 3)


def test_one_repeat_is_told_as_it_is() -> None:
    assert texts(listen(1), listen(2)) == [FAILED, FAILED]


def test_hosts_are_not_folded_together() -> None:
    assert texts(listen(1), listen(2, "gw2"), listen(3), listen(4, "gw2")) == [FAILED] * 4


def test_nothing_is_folded_across_a_phase_or_a_fault() -> None:
    assert texts(listen(1), listen(2), heal(3), listen(4), listen(5)).count(FAILED) == 4


def test_a_state_that_comes_back_is_told_again() -> None:
    states = [fact("readyz", status=status, ready=True, state="", reasons="") for status in (200, 503) * 4]
    assert len(texts(*states)) == 8


def test_everything_is_folded_nowhere() -> None:
    assert texts(listen(1), listen(2), listen(3), everything=True) == [FAILED] * 3


def test_a_violation_stands_at_its_second() -> None:
    told = events([heal(1000.0), listen(1002.0002), listen(1003.0)], ["I13 at 2.000 s, call 12: it stalled"])
    assert [event.tone for event in told] == [Tone.PHASE, Tone.WRONG, Tone.VIOLATED, Tone.WRONG]


def test_a_violation_without_a_time_comes_last() -> None:
    told = list(events([heal(1000.0), listen(1002.0)], ["FV3 the fault was never active"]))
    assert (told[-1].at_s, told[-1].text) == (2.0, "!! FV3 the fault was never active")


def test_leases_are_told_where_something_was_violated() -> None:
    lease = fact("lease_taken", lease="l1", node="node-1", slots=2)
    assert [
        [event.text for event in events([lease], violations)] for violations in ([], ["I4 at 9.000 s: x"])
    ] == [
        [],
        ["lease_taken lease=l1 node=node-1 slots=2", "!! I4 at 9.000 s: x"],
    ]
