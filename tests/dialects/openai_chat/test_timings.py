"""llama.cpp's own timings: read where they make sense, as good as absent where not."""

import json

import pytest

from ktms.dialects.openai_chat.timings import read_timings
from ktms.domain.capacity.speed import EngineTimings

TOLD: dict[str, object] = {
    "cache_n": 236,
    "prompt_n": 12,
    "prompt_ms": 30.958,
    "prompt_per_second": 387.6,
    "predicted_n": 35,
    "predicted_ms": 661.064,
}


def read(**change: object) -> EngineTimings | None:
    return read_timings(json.dumps(TOLD | change).encode())


def test_both_phases_are_read() -> None:
    assert read() == EngineTimings(12, 30.958, 35, 661.064)


def test_a_whole_number_of_milliseconds_is_one_too() -> None:
    assert read(prompt_ms=30) == EngineTimings(12, 30.0, 35, 661.064)


def test_nothing_read_in_no_time_makes_sense() -> None:
    assert read(prompt_n=0, prompt_ms=0) == EngineTimings(0, 0.0, 35, 661.064)


@pytest.mark.parametrize(
    "change",
    [
        {"prompt_n": -1},
        {"prompt_n": None},
        {"prompt_n": 1.5},
        {"prompt_n": True},
        {"prompt_n": 10**12},
        {"prompt_ms": -0.1},
        {"prompt_ms": 0},
        {"prompt_ms": "30"},
        {"prompt_ms": True},
        {"prompt_ms": 1e300},
        {"predicted_n": "35"},
        {"predicted_ms": None},
        {"predicted_ms": 86_400_001},
    ],
)
def test_nonsense_is_as_good_as_absent(change: dict[str, object]) -> None:
    assert read(**change) is None


@pytest.mark.parametrize("raw", [b"null", b"7", b"[]", b"{}", b"{", b'{"prompt_n":12,"prompt_ms":30}'])
def test_what_is_no_whole_object_is_none(raw: bytes) -> None:
    assert read_timings(raw) is None
