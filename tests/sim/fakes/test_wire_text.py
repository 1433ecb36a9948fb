"""Bytes with a hole are what encoding anew would give."""

import json

from sim.fakes.wire_text import HOLE, card, event, token_text, told, usage, writer


def test_a_written_chunk_is_the_encoded_one() -> None:
    chunk = {"a": 1, "delta": {"content": HOLE}, "b": "é"}
    assert writer(chunk)(1, b"7.1 ") == told(chunk | {"delta": {"content": "7.1 "}})


def test_an_event_is_one_line_and_a_blank_one() -> None:
    assert event(b"{}") == b"data: {}\n\n"


def test_usage_adds_up() -> None:
    assert json.dumps(usage(2, 3, cached=1)) == (
        '{"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5, "cached": 1}'
    )


def test_no_two_tokens_of_a_world_are_alike() -> None:
    texts = {token_text(exchange, nth) for exchange in range(1, 30) for nth in range(1, 30)}
    assert len(texts) == 29 * 29


def test_a_card_has_what_is_given() -> None:
    assert card("m", "o", meta=None)["meta"] is None
