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
