"""Metrics of engines: what is read, and what is not known because it was not told or cannot be true."""

import math
from random import Random  # noqa: TID251  # the one that hypothesis hands out

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.capacity import engine_metrics as module
from ktms.domain.capacity.engine_metrics import (
    CALLS_MAX,
    LINE_MAX_BYTES,
    METRICS_MAX_BYTES,
    UNKNOWN_LOAD,
    EngineLoad,
    read_engine_metrics,
)

VLLM = b"""\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 5.0
vllm:num_requests_waiting{engine="0",model_name="m"} 0.0
vllm:num_requests_waiting{engine="1",model_name="m"} 2.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 9.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.75
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="m"} 17.0
"""
LLAMA_CPP = b"llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\nllamacpp:n_busy_slots_per_decode 1.5\n"
TGI = b"tgi_batch_current_size 4\ntgi_queue_size 7\n"


@pytest.mark.parametrize(
    ("text", "load"),
    [
        (VLLM, EngineLoad(8, 2, 0.5)),
        (LLAMA_CPP, EngineLoad(2, 1)),
        (TGI, EngineLoad(4, 7)),
        (b"", UNKNOWN_LOAD),
        (b"<html>hello</html>", UNKNOWN_LOAD),
    ],
)
def test_each_engine_has_names_of_its_own(text: bytes, load: EngineLoad) -> None:
    assert read_engine_metrics(text) == load


@pytest.mark.parametrize(("name", "used"), [(b"kv_cache", 0.5), (b"gpu_cache", 0.5), (b"cpu_cache", None)])
def test_n12_the_cache_is_read_by_its_new_and_its_old_name(name: bytes, used: float | None) -> None:
    assert read_engine_metrics(b'vllm:%b_usage_perc{engine="0"} 0.5\n' % name).kv_used == used


def test_n12_where_both_names_are_written_the_newer_one_counts() -> None:
    text = b"vllm:gpu_cache_usage_perc 0.0\nvllm:kv_cache_usage_perc 0.9\n"
    assert read_engine_metrics(text).kv_used == 0.9


@pytest.mark.parametrize(
    ("load", "calls"),
    [
        (UNKNOWN_LOAD, None),
        (EngineLoad(running=3), 3),
        (EngineLoad(waiting=2), 2),
        (EngineLoad(0, 0), 0),
        (EngineLoad(3, 2, 0.5), 5),
        (EngineLoad(kv_used=0.5), None),
    ],
)
def test_calls_in_the_engine_are_those_that_run_and_those_that_wait(load: EngineLoad, calls: int | None) -> None:
    assert load.calls == calls


@pytest.mark.parametrize(
    "line",
    [
        b"tgi_queue_size 4",
        b"tgi_queue_size\t4.0\r",
        b"tgi_queue_size{} 4",
        b"tgi_queue_size {} 4",
        b'tgi_queue_size{a="b"}4e0',
        b"tgi_queue_size +4 1790000000000",
        b'tgi_queue_size{path="C:\\\\x",text="a } b \\" c\\n",} 4 ',
    ],
)
def test_a_series_is_read_however_it_is_written(line: bytes) -> None:
    assert read_engine_metrics(line) == EngineLoad(waiting=4)


@pytest.mark.parametrize(
    "value",
    [b"%d" % (CALLS_MAX + 1), *b"NaN +Inf -Inf -1 1.5 1e300 1e999 1_0 0x10 four .".split(), b"", b"4 4 4"],
)
def test_what_cannot_be_a_count_is_not_known(value: bytes) -> None:
    assert read_engine_metrics(b"tgi_queue_size " + value) == UNKNOWN_LOAD


@pytest.mark.parametrize("value", [b"NaN", b"-0.1", b"1.01", b"37"])
def test_what_cannot_be_a_share_is_not_known(value: bytes) -> None:
    assert read_engine_metrics(b"vllm:kv_cache_usage_perc " + value) == UNKNOWN_LOAD


@pytest.mark.parametrize(
    "line", [b"tgi_queue_size4", b'tgi_queue_size{a="b} 4', b"tgi_queue_size{a=b} } 4", b" x 4"]
)
def test_garbage_is_passed_over(line: bytes) -> None:
    assert read_engine_metrics(line + b"\n" + TGI) == EngineLoad(4, 7)


def test_an_engine_of_which_one_series_is_no_number_still_counts_the_others() -> None:
    text = b'vllm:num_requests_running{engine="0"} NaN\nvllm:num_requests_running{engine="1"} 5\n'
    assert read_engine_metrics(text).running == 5


def test_a_series_that_is_written_twice_counts_once() -> None:
    assert read_engine_metrics(b"tgi_queue_size 4\ntgi_queue_size 6\n").waiting == 6


def test_a_line_that_is_too_long_is_passed_over() -> None:
    label = b"x" * LINE_MAX_BYTES
    assert read_engine_metrics(b'tgi_queue_size{a="%b"} 4\n' % label + LLAMA_CPP) == EngineLoad(2, 1)


def test_what_stands_behind_the_last_line_read_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINES_MAX", 2)
    assert read_engine_metrics(b"#\ntgi_queue_size 4\ntgi_batch_current_size 4\n") == EngineLoad(waiting=4)


def test_a_line_that_is_cut_off_by_the_bound_is_not_half_read() -> None:
    text = b"tgi_batch_current_size 4\n" + b"#" * (METRICS_MAX_BYTES - 42) + b"\ntgi_queue_size 12"
    assert text[:METRICS_MAX_BYTES].endswith(b"tgi_queue_size 1")
    assert read_engine_metrics(text) == EngineLoad(running=4)


LINES = st.one_of(
    st.binary(max_size=60),
    st.builds(
        lambda name, labels, value: name + labels + b" " + value,
        st.sampled_from(sorted(module._NAMES)),  # every name, so that a new one is tried too
        st.binary(max_size=20) | st.sampled_from([b"", b'{engine="0"}', b'{engine="1"}']),
        st.binary(max_size=12) | st.floats().map(lambda value: repr(value).encode()),
    ),
)


@given(st.lists(LINES, max_size=30).map(b"\n".join))
def test_whatever_an_engine_sends_is_read_without_an_error_and_within_sane_bounds(text: bytes) -> None:
    load = read_engine_metrics(text)
    assert load.running is None or load.running >= 0
    assert load.waiting is None or load.waiting >= 0
    assert load.kv_used is None or 0 <= load.kv_used <= 1


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500), st.floats(0, 1)), min_size=1, max_size=16),
    st.randoms(use_true_random=False),
)
def test_n09_engines_are_summed_and_their_caches_averaged_in_any_order(
    engines: list[tuple[int, int, float]], chance: Random
) -> None:
    lines = []
    for number, (running, waiting, used) in enumerate(engines):
        labels = b'{engine="%d",model_name="m"} ' % number
        lines += [b"vllm:num_requests_running" + labels + b"%d.0" % running]
        lines += [b"vllm:num_requests_waiting" + labels + b"%d.0" % waiting]
        lines += [b"vllm:kv_cache_usage_perc" + labels + repr(used).encode()]
    chance.shuffle(lines)
    load = read_engine_metrics(b"\n".join(lines))
    assert load.running == sum(engine[0] for engine in engines)
    assert load.waiting == sum(engine[1] for engine in engines)
    assert load.kv_used is not None
    assert math.isclose(load.kv_used, sum(engine[2] for engine in engines) / len(engines), abs_tol=1e-9)
