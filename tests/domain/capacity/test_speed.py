"""From answers to rates, from rates to the factor of a seat."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.capacity.seat import DECODE_UNKNOWN_TOKENS_PER_S, PREFILL_UNKNOWN_TOKENS_PER_S, Seat
from ktms.domain.capacity.speed import (
    DECODE_MAX_TOKENS_PER_S,
    DECODED_TOKENS_MIN,
    OPTIMISM,
    READ_TOKENS_MIN,
    SLOPE,
    SPEED_MAX,
    SPEED_MIN,
    TAU_S,
    EngineTimings,
    Speed,
    SpeedMeter,
    SpeedSample,
    sample_of,
    set_speeds,
)
from tests.domain.capacity.fleets import seat


def sample(
    prompt: int = 1000,
    cached: int = 0,
    completion: int = 101,
    first: float | None = 12.0,
    last: float | None = 14.0,
    *,
    concurrency: int = 1,
    estimated: bool = False,
    timings: EngineTimings | None = None,
) -> SpeedSample | None:
    return sample_of(
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=completion,
        asked_at=10.0,
        first_token_at=first,
        last_token_at=last,
        concurrency=concurrency,
        estimated=estimated,
        timings=timings,
    )


def meter(decode: float | None, prefill: float | None = None, samples: int = 5) -> SpeedMeter:
    one = SpeedMeter()
    for _ in range(samples):
        one.take(SpeedSample(decode, prefill, 1), 0.0)
    return one


def speeds(*meters: SpeedMeter) -> list[Seat]:
    seats = [seat(str(place)) for place in range(len(meters))]
    set_speeds(list(zip(seats, meters, strict=True)))
    return seats


def test_rates_are_tokens_over_the_time_they_took() -> None:
    assert sample() == SpeedSample(50.0, 500.0, 1)


def test_cached_tokens_are_not_read() -> None:
    assert sample(cached=600) == SpeedSample(50.0, 200.0, 1)


@pytest.mark.parametrize(("completion", "decode"), [(DECODED_TOKENS_MIN, 7.5), (DECODED_TOKENS_MIN - 1, None)])
def test_a_short_answer_tells_no_decode_rate(completion: int, decode: float | None) -> None:
    assert sample(completion=completion) == SpeedSample(decode, 500.0, 1)


@pytest.mark.parametrize(("prompt", "prefill"), [(READ_TOKENS_MIN, 8.0), (READ_TOKENS_MIN - 1, None)])
def test_a_short_prompt_tells_no_prefill_rate(prompt: int, prefill: float | None) -> None:
    assert sample(prompt=prompt) == SpeedSample(50.0, prefill, 1)


def test_guessed_counts_tell_no_decode_rate() -> None:
    assert sample(estimated=True) == SpeedSample(None, 500.0, 1)


def test_an_answer_without_a_last_token_tells_only_how_fast_it_was_read() -> None:
    assert sample(last=None) == SpeedSample(None, 500.0, 1)


@pytest.mark.parametrize(
    ("first", "last"), [(None, None), (None, 14.0), (10.0, 10.0), (9.0, 8.0), (nan, nan), (inf, inf)]
)
def test_nonsense_and_durations_of_nothing_tell_nothing(first: float | None, last: float | None) -> None:
    assert sample(first=first, last=last) is None


def test_a_cache_larger_than_the_prompt_tells_nothing_of_reading() -> None:
    assert sample(cached=2000) == SpeedSample(50.0, None, 1)


def test_without_a_stream_there_is_no_rate() -> None:
    assert sample(concurrency=0) is None


def test_an_answer_out_of_a_buffer_is_no_rate() -> None:
    assert sample(last=12.0 + 50 / DECODE_MAX_TOKENS_PER_S) == SpeedSample(None, 500.0, 1)


def test_the_engines_own_timings_win() -> None:
    timings = EngineTimings(prompt_tokens=400, prompt_ms=200, predicted_tokens=64, predicted_ms=1000)

    assert sample(timings=timings, estimated=True, first=None) == SpeedSample(64.0, 2000.0, 1)


def test_timings_that_say_nothing_leave_what_was_seen() -> None:
    timings = EngineTimings(prompt_tokens=1, prompt_ms=0, predicted_tokens=64, predicted_ms=0)

    assert sample(timings=timings) == SpeedSample(50.0, 500.0, 1)


def test_a_new_meter_knows_nothing() -> None:
    one = SpeedMeter()

    assert (one.decode_tokens_per_s, one.prefill_tokens_per_s, one.speed(), one.samples) == (None, None, None, 0)


def test_the_timers_get_a_speed_once_both_rates_are_known() -> None:
    one = meter(50)
    assert one.speed() is None
    one.take(SpeedSample(None, 500, 1), 1.0)

    assert one.speed() == Speed(500, 50)
    assert one.samples == 6


def test_a_rate_is_that_of_one_stream_whatever_ran_beside_it() -> None:
    one = SpeedMeter()
    one.take(SpeedSample(50, 500, 3), 0.0)

    assert one.decode_tokens_per_s == pytest.approx(50 * (1 + 2 * SLOPE))
    assert one.prefill_tokens_per_s == pytest.approx(500 * (1 + 2 * SLOPE))


def test_few_samples_weigh_the_same() -> None:
    one = SpeedMeter()
    for now, rate in enumerate((10, 20, 60)):
        one.take(SpeedSample(rate, None, 1), now / 1000)

    assert one.decode_tokens_per_s == pytest.approx(30)


def test_an_old_rate_fades_with_time_not_with_the_number_of_samples() -> None:
    one = meter(10, samples=100)
    one.take(SpeedSample(20, None, 1), TAU_S)

    assert one.decode_tokens_per_s == pytest.approx(16.32, abs=0.01)


def test_a_sample_from_before_the_last_one_is_taken_as_of_now() -> None:
    one = SpeedMeter()
    one.take(SpeedSample(10, None, 1), 100.0)
    one.take(SpeedSample(20, None, 1), 50.0)

    assert one.decode_tokens_per_s == 15


def test_prefill_is_averaged_in_seconds_per_token() -> None:
    one = SpeedMeter()
    one.take(SpeedSample(None, 100, 1), 0.0)
    one.take(SpeedSample(None, 300, 1), 0.0)

    assert one.prefill_tokens_per_s == pytest.approx(150)


def test_a_node_alone_has_the_speed_one() -> None:
    assert speeds(meter(50, 500))[0].speed == 1


def test_nodes_are_compared_with_the_median() -> None:
    found = speeds(meter(20, 100, 10_000), meter(40, 200, 10_000), meter(60, 200, 10_000))

    assert [one.speed for one in found] == pytest.approx([0.5, 1.0, 1.35], abs=0.01)


def test_two_nodes_are_compared_with_their_geometric_mean() -> None:
    found = speeds(meter(10, 100, 10_000), meter(40, 400, 10_000))

    assert [one.speed for one in found] == pytest.approx([0.5, 2.0], abs=0.01)


def test_few_samples_are_drawn_towards_one() -> None:
    found = speeds(meter(10, 100, 5), meter(40, 400, 5))

    assert [one.speed for one in found] == pytest.approx([0.75, 1.5])


def test_what_is_not_known_counts_as_one() -> None:
    found = speeds(meter(None, None, 0), meter(10, 100), meter(40, 400))

    assert found[0].speed == 1


def test_one_odd_measurement_is_clamped() -> None:
    found = speeds(meter(0.01, 0.1, 10_000), meter(40, 400), meter(40, 400), meter(9000, 90_000, 10_000))

    assert (found[0].speed, found[3].speed) == pytest.approx((SPEED_MIN, SPEED_MAX), rel=0.01)


def test_a_seat_gets_its_own_rates_where_they_are_known() -> None:
    found = speeds(meter(10, 100), meter(40, 400))

    assert [one.decode_tokens_per_s for one in found] == [10, 40]
    assert [one.prefill_tokens_per_s for one in found] == pytest.approx([100, 400])


def test_a_node_not_measured_yet_is_thought_a_little_faster_than_the_middle() -> None:
    found = speeds(meter(None, None, 0), meter(10, 100), meter(20, 200), meter(90, 900))

    assert found[0].decode_tokens_per_s == pytest.approx(20 * OPTIMISM)
    assert found[0].prefill_tokens_per_s == pytest.approx(200 * OPTIMISM)


def test_in_a_fleet_never_measured_all_rates_are_assumed() -> None:
    found = speeds(meter(None, None, 0))

    assert found[0].decode_tokens_per_s == DECODE_UNKNOWN_TOKENS_PER_S
    assert found[0].prefill_tokens_per_s == PREFILL_UNKNOWN_TOKENS_PER_S


def test_the_repr_of_a_meter_shows_both_rates() -> None:
    assert repr(meter(50, 500)) == "SpeedMeter(500.0, 50.0, samples=5)"


@given(st.lists(st.tuples(st.floats(0.01, 1e4), st.floats(0.1, 1e6), st.integers(0, 50)), min_size=1, max_size=8))
def test_a_speed_stays_within_its_bounds(measured: list[tuple[float, float, int]]) -> None:
    found = speeds(*(meter(decode, prefill, samples) for decode, prefill, samples in measured))

    assert all(SPEED_MIN <= one.speed <= SPEED_MAX for one in found)
