"""An answer as a client reads it, whatever the pieces it comes in."""

import json

import pytest

from chaos.traffic.answer import Answer

EVENTS = {"Content-Type": "text/event-stream"}
PAGE = {"Content-Type": "application/json"}


def chunk(text: str) -> bytes:
    choices = [{"index": 0, "delta": {"content": text}}]
    return b"data: %b\n\n" % json.dumps({"model": "house", "choices": choices}).encode()


ERROR = b'data: {"error":{"message":"It broke.","code":"stream_interrupted"}}\n\n'
DONE = b"data: [DONE]\n\n"


def read(data: bytes, *, size: int = 1 << 20, over: bool = True, status: int = 200) -> Answer:
    answer = Answer(lambda: None)
    answer.begin(status, EVENTS if status == 200 else PAGE)
    for at in range(0, len(data), size):
        answer.feed(data[at : at + size])
    if over:
        answer.end()
    return answer


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_is_the_same_in_pieces_of_any_size(size: int) -> None:
    answer = read(chunk("a ") + b": ping\n\n" + chunk("b ") + DONE, size=size)
    assert (answer.outcome, answer.text, answer.events, list(answer.models)) == ("done", "a b ", 3, ["house"])


@pytest.mark.parametrize(
    ("data", "over", "outcome"),
    [
        (chunk("a ") + DONE, True, "done"),
        (chunk("a "), True, "cut"),
        (chunk("a "), False, "cut"),
        (chunk("a ") + ERROR, True, "error_event"),
        (chunk("a ") + ERROR + DONE, True, "cut"),
        (DONE + chunk("a "), True, "cut"),
        (b"data: <html>\n\n", True, "cut"),
        (chunk("a ")[:-1], True, "cut"),
    ],
    ids=["whole", "no-end-mark", "lost", "error", "end-after-error", "text-after-end", "nonsense", "half-event"],
)
def test_a_stream_ends_in_one_way(data: bytes, over: bool, outcome: str) -> None:
    assert read(data, over=over).outcome == outcome


def test_an_error_has_its_code() -> None:
    answer = read(b'{"error":{"message":"No.","code":"no_node_available"}}', status=503)
    assert (answer.outcome, answer.code, answer.garbled) == ("error", "no_node_available", "")


def test_no_head_is_a_refusal() -> None:
    assert Answer(lambda: None).outcome == "refused"


def test_an_answer_that_is_no_stream_is_whole_only_if_it_is_an_answer() -> None:
    for body, outcome in ((b'{"choices":[{"message":{"content":"a "}}]}', "whole"), (b"<html>", "cut")):
        answer = Answer(lambda: None)
        answer.begin(200, PAGE)
        answer.feed(body)
        answer.end()
        assert answer.outcome == outcome


def test_the_first_text_is_told_of_once() -> None:
    seen: list[str] = []
    answer = Answer(lambda: seen.append("now"))
    answer.begin(200, EVENTS)
    for text in ("", "a ", "b "):
        answer.feed(chunk(text))
    assert seen == ["now"]
