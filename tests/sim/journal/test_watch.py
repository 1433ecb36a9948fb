"""The index over a journal."""

import pytest

from sim.journal.calls import Attempt, attempts_of
from sim.journal.watch import watch_of
from tests.sim.checkers.story import CLOUD, GATEWAY, NODE, Story


def test_an_index_is_made_once() -> None:
    journal = Story().answered().journal
    assert watch_of(journal) is watch_of(journal)


def test_an_index_is_made_anew_when_facts_were_added() -> None:
    story = Story().answered()
    before = watch_of(story.journal)
    story.over()
    assert (before.over, watch_of(story.journal).over) == (False, True)


def test_a_call_is_put_together() -> None:
    call = watch_of(Story().at(3).answered().journal).calls["1"]
    assert (call.sent_at, call.over_at, call.outcome, call.status, call.request_id) == (3, 4, "done", 200, "req-1")


def test_a_call_that_ended_without_a_head_is_known_by_none() -> None:
    call = watch_of(Story().sent().ended("1", "refused", request_id="", status=0).journal).calls["1"]
    assert (call.request_id, call.status) == ("", 0)


def test_an_exchange_has_its_end() -> None:
    (exchange,) = watch_of(Story().sent().at(1).asked().at(2).failed().journal).exchanges
    assert (exchange.told_at, exchange.status, exchange.how, exchange.late) == (2, 502, "whole", False)


def test_the_same_request_after_a_dead_connection_is_a_repeat() -> None:
    story = Story().sent().asked(1).told(1, how="cut", status=0).asked(2).told(2)
    watch = watch_of(story.journal)
    assert [exchange.number for exchange in watch.asked(watch.calls["1"])] == [2]


def test_the_same_request_after_an_answer_is_no_repeat() -> None:
    watch = watch_of(Story().sent().asked(1).failed(1).asked(2).told(2).journal)
    assert [exchange.number for exchange in watch.asked(watch.calls["1"])] == [1, 2]


def test_an_answer_that_went_into_a_black_hole_may_have_died_with_a_reset() -> None:
    story = Story().sent().asked(1).fault("half_open", CLOUD).told(1).at(20).fault("reset", CLOUD).asked(2)
    watch = watch_of(story.journal)
    assert [exchange.number for exchange in watch.asked(watch.calls["1"])] == [2]


def test_a_silent_target_that_was_reset_may_be_asked_once_more() -> None:
    story = Story().sent().asked(1).at(20).fault("reset", CLOUD).told(1, how="silent", status=0).asked(2)
    watch = watch_of(story.journal)
    assert [exchange.number for exchange in watch.asked(watch.calls["1"])] == [2]


def test_a_stream_that_crawled_may_have_been_cut_before_it_arrived() -> None:
    story = Story().fault("thin_link", CLOUD).sent().asked(1).told(1, how="cut").asked(2)
    watch = watch_of(story.journal)
    assert [exchange.number for exchange in watch.asked(watch.calls["1"])] == [2]


def test_what_was_held_is_late() -> None:
    story = (
        Story()
        .sent()
        .fault("black_hole", CLOUD)
        .at(9)
        .fault("black_hole", CLOUD, on=False)
        .asked(1)
        .asked(2, NODE)
    )
    assert [exchange.late for exchange in watch_of(story.journal).exchanges] == [True, False]


def test_an_exchange_may_be_lost_with_its_gateway() -> None:
    story = Story().note("host_up", GATEWAY).at(5).sent().asked().at(6).note("host_crashed", GATEWAY)
    watch = watch_of(story.told(how="left").journal)
    assert watch.lost_with(watch.exchanges[0])


def test_an_exchange_is_not_lost_with_a_later_crash() -> None:
    story = Story().note("host_up", GATEWAY).at(5).sent().asked().told().ended().at(60)
    watch = watch_of(story.note("host_crashed", GATEWAY).journal)
    assert not watch.lost_with(watch.exchanges[0])


def test_the_newest_value_of_a_setting_counts() -> None:
    watch = watch_of(Story().setting("attempts_max", 6).setting("attempts_max", 2).journal)
    assert (watch.number("attempts_max", 1), watch.most("attempts_max", 1), watch.number("other", 9)) == (2, 6, 9)


def test_the_attempts_of_a_record_are_read() -> None:
    record = Story().record(attempts="local/node-0=busy|local/=none|cloud-a/=502").journal.facts[0]
    assert attempts_of(record) == (Attempt("node-0", "busy"), Attempt("local", "none"), Attempt("cloud-a", "502"))


def test_only_some_attempts_were_dialled() -> None:
    assert [
        Attempt("x", word).dialled for word in ("busy", "open", "resting", "none", "unfit", "ok", "refused")
    ] == [
        *[False] * 5,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("attempts", "settled", "dialled"),
    [
        ("local/node-0=busy|cloud-a/=ok", ["cloud-a"], ["cloud-a"]),
        ("local/node-0=busy|cloud-a/=ok", ["node-0", "cloud-a"], ["node-0", "cloud-a"]),
        ("local/node-0=500|local/=busy", ["node-0"], ["node-0"]),
        ("local/node-0=cold|local/=unknown|local/node-1=loading", ["node-1"], ["node-1"]),
    ],
)
def test_a_busy_node_was_asked_where_it_was_settled(attempts: str, settled: list[str], dialled: list[str]) -> None:
    story = Story()
    for target in settled:
        story.usage(target)
    story.record(attempts=attempts)
    watch = watch_of(story.journal)
    assert [attempt.name for attempt in watch.dialled(story.journal.facts[-1])] == dialled


def test_a_record_without_attempts_has_none() -> None:
    assert attempts_of(Story().record(attempts="").journal.facts[0]) == ()
