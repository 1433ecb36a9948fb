"""Bars are held against what was measured, in runs that never were."""

from chaos.experiments.bars import BARS, RATE_PER_S
from chaos.experiments.replicas import SLOTS_BACK
from tests.chaos.experiments.story import RunStory


def missed(name: str, story: RunStory) -> list[str]:
    """Name the bars that were not met."""
    return [one.text.partition(": ")[0] for one in BARS[name].expects(story.over()) if not one.holds]


def asked(story: RunStory, at: float, took_s: float) -> None:
    """Tell of a call whose target takes no time, so that all of it was added."""
    story.call(at, took_s=took_s)


def test_each_bar_says_what_is_asked_and_what_was_measured() -> None:
    for name, bar in BARS.items():
        texts = [one.text for one in bar.expects(RunStory().over())]
        assert texts, name
        assert all(": " in text for text in texts), name


def test_a_redis_that_hangs_and_costs_next_to_nothing_meets_its_bars() -> None:
    story = RunStory()
    for at, took_s in ((5.0, 0.010), (11.0, 0.130), (15.0, 0.012), (21.0, 0.010)):
        asked(story, at, took_s)
    assert missed("redis-hung", story) == []


def test_milliseconds_too_many_are_found_in_each_span() -> None:
    story = RunStory()
    for at, took_s in ((5.0, 0.010), (11.0, 0.170), (15.0, 0.020)):
        asked(story, at, took_s)
    story.call(24.0, "error", status=503)
    assert missed("redis-hung", story) == [
        "p99 added in the first 2 s <= 150 ms",
        "p99 added after <= 5 ms",
        "recovery <= 3 s",
    ]


def test_a_machine_too_slow_to_tell_of_milliseconds_meets_nothing() -> None:
    story = RunStory()
    for at in (5.0, 11.0, 15.0):
        asked(story, at, 0.2)
    assert missed("redis-hung", story) == ["p99 added before it hangs <= 50 ms"]


def test_one_call_that_fails_is_too_many() -> None:
    for name in ("postgres-down", "ledger-down"):
        story = RunStory()
        story.booked(story.call(12.0))
        assert missed(name, story) == []
        story.call(13.0, "error", status=503)
        assert missed(name, story) == ["0 calls of known keys fail"]


def test_one_event_that_is_lost_is_too_many() -> None:
    story = RunStory()
    story.booked(story.call(12.0))
    story.call(13.0)
    assert missed("ledger-down", story) == ["0 events lost with a spool"]


def test_slots_are_back_within_sixteen_seconds() -> None:
    story = RunStory()
    story.call(11.0, gateway="gw1")
    story.note(29.0, "gauge", "gw2", name=SLOTS_BACK, label="", value=16.5)
    assert missed("replica-killed", story) == ["slots back <= 16 s"]


def test_outages_are_felt_by_two_hundred_calls_a_second_and_last_as_long_as_is_promised() -> None:
    lasts = {name: BARS[name].spans.fault_s for name in ("postgres-down", "ledger-down")}
    assert lasts == {"postgres-down": 240.0, "ledger-down": 300.0}
    assert {BARS[name].mix.rate_per_s for name in (*lasts, "redis-hung")} == {RATE_PER_S}


def test_bars_are_measured_with_the_times_that_the_product_ships_with() -> None:
    for bar in BARS.values():
        assert bar.settings == bar.settings.as_shipped()
