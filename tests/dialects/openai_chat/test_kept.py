"""Answers as they are kept: what is written can be read, and anything else is no answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.dialects.openai_chat.kept import FORM, KeptAnswer, read_kept, write_kept
from ktms.domain.conversation.usage import Usage

ANSWER = KeptAnswer(
    "m", streamed=True, usage=Usage(3, 4, estimated=True), body=b"data: {}\n\n", headers=(("X-KTMS-Model", "m"),)
)


@given(st.binary(), st.booleans(), st.text(), st.integers(0, 1 << 40))
def test_what_was_written_is_read_again(body: bytes, streamed: bool, model: str, tokens: int) -> None:
    kept = KeptAnswer(model, streamed, Usage(tokens, 1, 2, 3, 4), body, (("a", model),))
    assert read_kept(write_kept(kept)) == kept


def test_a_newer_release_may_write_more() -> None:
    line, _, body = write_kept(ANSWER).partition(b"\n")
    more = json.dumps({**json.loads(line), "since": 5}).encode()
    assert read_kept(more + b"\n" + body) == ANSWER


def test_another_form_is_no_answer() -> None:
    line, _, body = write_kept(ANSWER).partition(b"\n")
    other = json.dumps({**json.loads(line), "form": FORM + 1}).encode()
    assert read_kept(other + b"\n" + body) is None


@pytest.mark.parametrize("raw", [b"", b"\n", b"{}\nbody", b"[]", b'{"form":1}', b"\xff\n"])
def test_what_cannot_be_read_is_no_answer(raw: bytes) -> None:
    assert read_kept(raw) is None


@given(st.binary())
def test_garbage_never_raises(raw: bytes) -> None:
    assert read_kept(raw) is None or raw
