"""I13: a stream is one target's text, in order, with a true end."""

import pytest

from sim.checkers.i13_streams import check
from tests.sim.checkers.story import NODE, Story, said


def streamed(outcome: str, text: str, **told: str | bool) -> Story:
    return Story().sent().begun().asked().told(**told).ended(outcome=outcome, text=text)


def test_the_whole_text_is_right() -> None:
    assert said(check, streamed("done", "a b c")) == []


@pytest.mark.parametrize("outcome", ["error_event", "cut", "left"])
def test_the_beginning_of_a_text_is_right_where_it_was_broken_off(outcome: str) -> None:
    assert said(check, streamed(outcome, "a b", finished=False)) == []


@pytest.mark.parametrize("text", ["a b", "a c", "a b b c", "b a c", "a b c d", ""])
def test_a_complete_answer_with_another_text_is_found(text: str) -> None:
    assert len(said(check, streamed("done", text))) == 1


def test_an_end_mark_for_an_answer_that_was_not_finished_is_found() -> None:
    assert said(check, streamed("done", "a b c", finished=False, how="cut")) == [
        "done with 'a b c', but cloud-a said 'a b c' (cut)"
    ]


@pytest.mark.parametrize("text", ["b", "a c", "a b c d"])
def test_a_broken_answer_that_is_no_beginning_is_found(text: str) -> None:
    assert len(said(check, streamed("error_event", text))) == 1


def test_texts_of_two_targets_in_one_answer_are_found() -> None:
    story = Story().sent().begun().asked(1, NODE).told(1, NODE, text="a b ", finished=False)
    story.asked(2).told(2, text="x y").ended(text="a b x y")
    assert len(said(check, story)) == 1


def test_the_text_of_the_second_target_is_right() -> None:
    story = Story().sent().begun().asked(1, NODE).failed(1, NODE).asked(2).told(2, text="x y").ended(text="x y")
    assert said(check, story) == []


def test_text_that_nobody_said_is_found() -> None:
    story = Story().sent().begun().ended(text="a b c")
    assert said(check, story) == ["done with 'a b c', but nobody was asked"]


def test_a_garbled_answer_is_found() -> None:
    story = Story().sent().begun().asked().told().ended(garbled="an event after the end")
    assert said(check, story) == ["what gw1 sent is garbled: an event after the end"]


def test_what_a_target_still_says_cannot_be_judged() -> None:
    assert said(check, Story().sent().begun().asked().ended(outcome="left", text="a")) == []


def test_an_error_before_anything_visible_has_no_text_to_compare() -> None:
    story = Story().sent().begun(status=502).ended(outcome="error", status=502, code="upstream_error", text="")
    assert said(check, story) == []


def test_a_suffix_is_not_repeated_in_the_answer() -> None:
    story = Story().sent(model="public:nodes-only").begun().asked().told().ended(models="public")
    assert said(check, story) == []


@pytest.mark.parametrize(("model", "count"), [("large", 0), ("small", 0), ("vendors-own", 1)])
def test_a_chain_is_answered_by_one_of_its_models_and_by_no_other(model: str, count: int) -> None:
    story = Story().setting("chain:auto", "large small").sent(model="auto:high").begun().asked().told()
    assert len(said(check, story.ended(models=model))) == count


@pytest.mark.parametrize("member", [{"cache": "hit"}, {"replayed": True}])
def test_an_answer_that_is_given_again_is_that_of_a_call_which_asked_the_same(
    member: dict[str, str | bool],
) -> None:
    def story(question: str, text: str) -> Story:
        first = Story().sent("1", question="q").begun().asked().told().ended()
        first.sent("2", question=question).begun("2").record("2", **member)
        return first.ended("2", "done", text=text)

    assert said(check, story("q", "a b c")) == []
    assert len(said(check, story("q", "a b d"))) == 1
    assert len(said(check, story("other", "a b c"))) == 1
