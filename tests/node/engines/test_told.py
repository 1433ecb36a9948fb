"""What is believed: types and ranges."""

import pytest

from ktms.domain.announcement import SLOTS_MAX
from ktms.node.engines import told


@pytest.mark.parametrize(
    ("value", "expected"),
    [(4, 4), (5000, SLOTS_MAX), (0, None), (True, None), (4.0, None), ("4", None), (None, None)],
)
def test_slots_are_whole_numbers_and_claims_are_cut(value: object, expected: int | None) -> None:
    assert told.slots(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(4096, 4096), (10**8, None), (0, None), (True, None)])
def test_a_window_beyond_a_sane_range_is_not_known(value: object, expected: int | None) -> None:
    assert told.window(value) == expected


@pytest.mark.parametrize("value", ["", " x", "x ", "x\n", "모델", "x" * 300, 7, None])
def test_a_name_that_no_gateway_takes_is_none(value: object) -> None:
    assert told.name(value) is None


def test_paths_and_tags_are_names() -> None:
    assert told.name("/models/a b.gguf") == "/models/a b.gguf"
    assert told.name("qwen3:4b") == "qwen3:4b"


@pytest.mark.parametrize("value", ["", "1" * 65, "1\n2", "版本", 1.0, None])
def test_a_version_is_a_short_printable_word(value: object) -> None:
    assert told.version(value) is None


@pytest.mark.parametrize("value", [None, 7, {}, {"data": None}, {"data": {}}, {"data": [7, "x"]}])
def test_odd_lists_have_no_entries(value: object) -> None:
    assert list(told.entries(value, "data")) == []


def test_an_endless_list_is_read_to_a_bound() -> None:
    assert len(list(told.entries({"data": [{}] * 100_000}, "data"))) == told.ENTRIES_MAX


def test_words_are_the_texts_of_a_list() -> None:
    assert told.words(["completion", 7]) == ("completion",)
    assert told.words("completion") is None
