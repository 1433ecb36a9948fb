"""Stories are put together from all parties, and believe nobody alone."""

import pytest

from sim.journal.fact import Value
from sim.journal.journal import Journal
from sim.scenarios.showing import all_show, dials_by_gateway, spans, stories, suffered, victims


class Scene:
    """Writes the facts of one call that failed at one vendor and was answered by another."""

    def __init__(self) -> None:
        self.at = 10.0
        self.journal = Journal(lambda: self.at)

    def note(self, kind: str, host: str = "gw1", **members: Value) -> None:
        self.at += 0.1
        self.journal.note(kind, host, **members)

    def asked(self, exchange: int, target: str) -> None:
        self.note(
            "asked", target, exchange=exchange, target=target, cloud=True, model="m", call="0", gateway="gw1"
        )

    def told(self, exchange: int, target: str, how: str, status: int, text: str = "") -> None:
        good: dict[str, Value] = {
            "how": how,
            "status": status,
            "text": text,
            "visible": bool(text),
            "finished": bool(text),
        }
        self.note("told", target, exchange=exchange, target=target, call="0", **good)

    def usage(self, target: str, status: str, tokens: int) -> None:
        self.note(
            "usage",
            event_id=f"e-{target}",
            request_id="r",
            target=target,
            node=None,
            status=status,
            prompt_tokens=3,
            completion_tokens=tokens,
            estimated=False,
            duration_s=0.05,
        )


def scene(*, text: str = "2.1 ", outcome: str = "done", word: str = "500", attempts: str = "") -> Journal:
    made = Scene()
    sent: dict[str, Value] = {
        "gateway": "gw1",
        "key": "app",
        "model": "m",
        "route": "chat",
        "streamed": True,
        "placement": None,
    }
    made.note("fault", "world", fault="status", target="cloud-a", on=True)
    made.note("call_sent", "client", call="0", **sent)
    made.asked(1, "cloud-a")
    made.note("fault_active", "cloud-a", id="FV1", target="cloud-a", call="0")
    made.told(1, "cloud-a", "whole", 500)
    made.usage("cloud-a", "failed", 0)
    made.asked(2, "cloud-b")
    made.note("call_begun", "client", call="0", status=200, request_id="r")
    made.note("call_visible", "client", call="0")
    made.told(2, "cloud-b", "whole", 200, "2.1 ")
    made.usage("cloud-b", "ok", 1)
    made.note(
        "record",
        request_id="r",
        status=200,
        code=None,
        cancelled=False,
        attempts=attempts or f"cloud-a/={word}|cloud-b/=ok",
    )
    made.note(
        "call_ended", "client", call="0", outcome=outcome, status=200, code="", text=text, events=1, request_id="r"
    )
    made.note("fault", "world", fault="status", target="cloud-a", on=False)
    return made.journal


def test_a_call_that_was_answered_by_the_next_target_says_so() -> None:
    (story,) = stories(scene())
    assert (story.targets, story.answered_by) == (("cloud-a", "cloud-b"), "cloud-b")


def test_it_moved_on_from_the_one_that_failed_and_from_no_other() -> None:
    (story,) = stories(scene())
    assert (story.moved_on_from("cloud-a"), story.moved_on_from("cloud-b")) == (True, False)


@pytest.mark.parametrize("text", ["", "2.1 2.2 ", "1.1 "])
def test_nobody_answered_where_the_client_has_another_text(text: str) -> None:
    (story,) = stories(scene(text=text))
    assert story.answered_by == ""


@pytest.mark.parametrize("outcome", ["error_event", "cut", "error"])
def test_nobody_answered_where_the_client_says_otherwise(outcome: str) -> None:
    (story,) = stories(scene(outcome=outcome))
    assert story.answered_by == ""


def test_words_are_not_believed_where_record_and_usage_differ() -> None:
    (story,) = stories(scene(attempts="cloud-b/=ok"))
    assert [dial.word for dial in story.dials] == ["", ""]


def test_who_is_passed_over_is_not_dialled() -> None:
    (story,) = stories(scene(attempts="cloud-c/=open|cloud-a/=500|cloud-b/=ok"))
    assert (story.passed_over("cloud-c", "open"), story.passed_over("cloud-a", "500")) == (True, False)


def test_an_attempt_begins_its_duration_before_it_was_settled() -> None:
    dial = stories(scene())[0].dials[0]
    assert dial.ended_at - dial.began_at == pytest.approx(0.05)


def test_dials_are_sorted_by_gateway() -> None:
    assert [dial.status for dial in dials_by_gateway(stories(scene()), "cloud-a")["gw1"]] == ["failed"]


def test_faults_have_spans_and_victims() -> None:
    journal = scene()
    (span,) = spans(journal, "status", "cloud-a")
    assert (span.start < span.end, victims(journal)) == (True, ["cloud-a"])


def test_answers_that_suffered_are_those_of_a_call() -> None:
    journal = scene()
    journal.note("fault_active", "world", id="FV1", target="cloud-a")
    assert [fact.members["call"] for fact in suffered(journal, "FV1")] == ["0"]


def test_no_call_at_all_shows_nothing() -> None:
    assert not all_show([], lambda _: True)


def test_one_call_that_does_not_show_it_is_enough_to_deny_it() -> None:
    told = [*stories(scene()), *stories(scene(text="1.1 "))]
    assert not all_show(told, lambda story: story.moved_on_from("cloud-a"))
