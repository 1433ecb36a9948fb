"""The shapes of the demo node's answers."""

import json
from typing import Any

from ktms.adapters.demo_node.answers import CHAT, COMPLETION, complete, embeddings, encode, error, events, models
from ktms.adapters.demo_node.asked import Asked, BadRequest
from ktms.adapters.demo_node.speech import MODEL, speech

ASKED = Asked(("two words",), stream=True, include_usage=True, tokens_max=3, base64=False)


def decoded(lines: list[bytes]) -> list[Any]:
    assert all(line.startswith(b"data: ") and line.endswith(b"\n\n") for line in lines)
    return [json.loads(line[6:]) for line in lines[:-1]]


def test_a_chat_stream_has_role_words_finish_usage_and_end() -> None:
    lines = list(events(CHAT, ASKED, speech(3)))
    assert lines[-1] == b"data: [DONE]\n\n"
    first, *words, finish, usage = decoded(lines)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [word["choices"][0]["delta"]["content"] for word in words] == ["This", " is", " the"]
    assert finish["choices"][0] == {"index": 0, "delta": {}, "finish_reason": "length"}
    assert usage["choices"] == []
    assert usage["usage"] == {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}


def test_a_completion_stream_has_text_instead_of_deltas() -> None:
    word, *_, finish, _ = decoded(list(events(COMPLETION, ASKED, speech(3))))
    assert word["choices"][0] == {"index": 0, "text": "This", "logprobs": None, "finish_reason": None}
    assert finish["choices"][0]["text"] == ""
    assert word["object"] == "text_completion"


def test_whole_answers_carry_the_whole_text() -> None:
    chat: Any = complete(CHAT, ASKED, speech(2))
    text: Any = complete(COMPLETION, ASKED, speech(2))
    assert chat["choices"][0]["message"]["content"] == text["choices"][0]["text"] == "This is"
    assert chat["object"] == "chat.completion"


def test_every_answer_names_the_model() -> None:
    listed: Any = models()
    assert listed["data"][0]["id"] == MODEL
    assert complete(CHAT, ASKED, speech(1))["model"] == embeddings(ASKED)["model"] == MODEL


def test_an_error_says_whose_fault_it_is() -> None:
    assert error(BadRequest("no", param="model", status=404))["error"] == {
        "message": "no",
        "type": "not_found_error",
        "param": "model",
        "code": None,
    }


def test_encoding_leaves_no_spaces() -> None:
    assert encode({"a": [1, 2]}) == b'{"a":[1,2]}'
