"""Whole answers of OpenAI-type vendors: the model's public name put in, usage and errors read.

Rules: the first `model` member at depth 1 is replaced, whatever its value; nothing is added where there is none;
all else keeps its bytes. An error inside a 200 is an error (P33). Not here: what follows from it (engine).
"""

from dataclasses import dataclass

import msgspec

from ktms.dialects.json import BadJson, Members, as_json, decoded, is_empty, splice
from ktms.dialects.openai_chat.chunk import name_told, text_bytes_of
from ktms.dialects.openai_chat.timings import read_timings
from ktms.dialects.openai_chat.usage import read_usage
from ktms.dialects.openai_chat.vendor_error import WireError, error_among, error_of_body
from ktms.domain.call import Route
from ktms.domain.capacity.speed import EngineTimings
from ktms.domain.conversation.usage import Usage


class BadAnswer(Exception):
    """A vendor answered 200 with something that is no answer; the text quotes nothing of it."""


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """`finished`: there is a choice and each has its finish reason (embeddings: there is `data`).

    `text_bytes` is about how much text it holds, found out only where the vendor gave no usage. `model_told` is
    the name the upstream gave itself, `timings` its own clock (llama.cpp). `empty`: no choice, or no `data`.
    """

    body: bytes
    usage: Usage | None
    error: WireError | None
    finished: bool
    text_bytes: int = 0
    model_told: str | None = None
    timings: EngineTimings | None = None
    empty: bool = False


class _Choice(msgspec.Struct, gc=False):
    finish_reason: msgspec.Raw = msgspec.Raw(b"null")


_choices = msgspec.json.Decoder(list[_Choice]).decode


def read_answer(body: bytes, *, public_model: str, route: Route) -> WholeAnswer:
    """Read an answer with status 200 that was not streamed.

    Raises:
        BadAnswer: not a JSON object, or its choices are no list of objects.
    """
    try:
        members = Members(body)
        error = error_among(members, body)
    except BadJson as bad:
        raise BadAnswer("the answer is not a JSON object") from bad
    raw_usage = members.get("usage")
    usage = None if raw_usage is None else read_usage(raw_usage)
    text_bytes = text_bytes_of(members.get("choices") or b"") if usage is None else 0
    if route is Route.EMBEDDINGS:
        empty = not (finished := "data" in members)
    else:
        choices = _choices_of(members)
        empty = not choices
        finished = not empty and not any(is_empty(bytes(choice.finish_reason)) for choice in choices)
    model = members.span("model")
    model_told = None
    if model is not None:
        model_told = name_told(body[model.start : model.end])
        body = splice(body, [(model.start, model.end, as_json(public_model))])
    raw_timings = members.get("timings")
    timings = None if raw_timings is None else read_timings(raw_timings)
    return WholeAnswer(body, usage, error, finished, text_bytes, model_told, timings, empty)


def read_error(body: bytes) -> WireError:
    """Read the body of an answer with a status of 400 or more, whatever it is; never raises."""
    return error_of_body(body)


def _choices_of(members: Members) -> list[_Choice]:
    raw = members.get("choices")
    if raw is None:
        return []
    try:
        return decoded(_choices, raw)
    except (msgspec.ValidationError, BadJson) as bad:
        raise BadAnswer("the answer's choices are no list of objects") from bad
