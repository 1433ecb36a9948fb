"""What a chat body becomes before the engine sees it: read whole, judged, written anew.

Rules: only models of this node, by the engine's own spelling; what would load the model in another way, choose a
slot or a template, or reach beyond this machine is dropped or refused; `stream_options` and all that engines
know of sampling goes through. Names of members are exact: Go reads `Model` as `model` and lets the last one win,
so whatever is not written in small letters is dropped. It is written anew from what was read, so a name that was
given twice has one value for us and for the engine.
Not here: which models those are (`own_models.py`), sizes and encodings (`inbound_body.py`, `target.py`).
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from ktms.domain.catalogue import EngineKind
from ktms.domain.errors import ErrorCode
from ktms.node.filter.own_models import is_cloud
from ktms.node.filter.refused import Refused, refused

DROPPED = frozenset(
    {
        "_debug_render_only",  # Ollama answers with the prompt
        "chat_template",  # a program that the engine runs
        "id_slot",  # picks another caller's slot of llama.cpp
        "keep_alive",  # the owner decides how long a model stays in memory
        "kv_transfer_params",  # vLLM fetches a prefill from the host that it names
        "logits_processors",  # names of Python objects
        "lora",
        "media_io_kwargs",
        "mm_processor_kwargs",
        "num_ctx",  # another window loads the whole model again (N26)
        "options",  # the same, and how it is spread over the GPU
        "prompt_embeds",  # read by an unpickler
    }
)
"""Members that are for whoever runs the engine, not for callers."""

TGI_FETCHES = "![]("
"""TGI takes a picture in Markdown for one that it has to fetch, wherever in a text it stands."""

_EXACT = re.compile(r"[a-z0-9_]{1,64}")
_REMOTE_IN_TEXT = re.compile(re.escape(TGI_FETCHES) + r"\s*https?:", re.IGNORECASE)

Rename = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class EngineBody:
    """A body as the engine gets it, and whether it asks for events."""

    text: bytes
    streams: bool


def engine_body(raw: bytes, rename: Rename, engine: EngineKind) -> EngineBody | Refused:
    """Make the engine's body of a caller's; `rename` gives the engine's name of a model that is served."""
    members = _members(raw)
    if isinstance(members, Refused):
        return members
    model = _model(members.get("model"), rename)
    if isinstance(model, Refused):
        return model
    reaches_out = _reaches_out(members.get("messages"), engine)
    if reaches_out is not None:
        return reaches_out
    kept = {name: value for name, value in members.items() if name not in DROPPED and _EXACT.fullmatch(name)}
    kept["model"] = model
    try:
        text = json.dumps(kept, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError):  # 1e999 is read as infinity
        return _not_json()
    return EngineBody(text.encode(), kept.get("stream") is True)


def _members(raw: bytes) -> dict[str, object] | Refused:
    try:
        members = json.loads(raw.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return _not_json()
    if not isinstance(members, dict):
        return refused(ErrorCode.INVALID_REQUEST, "The body must be a JSON object.")
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _model(asked: object, rename: Rename) -> str | Refused:
    if not isinstance(asked, str) or not asked:
        return refused(ErrorCode.INVALID_REQUEST, "Name a model.", param="model")
    name = None if is_cloud(asked) else rename(asked)
    return name or refused(ErrorCode.MODEL_NOT_FOUND, "This node does not serve that model.", param="model")


def _reaches_out(messages: object, engine: EngineKind) -> Refused | None:
    """Find what an engine would fetch from elsewhere, or read from its disk, on a caller's behalf."""
    for content in _contents(messages):
        if any(_is_remote(name, value) for name, value in _media(content)):
            message = "Send pictures and sounds within the body, as data: URLs: nodes fetch nothing."
            return refused(ErrorCode.INVALID_REQUEST, message, param="messages")
        if engine is EngineKind.TGI and _REMOTE_IN_TEXT.search(_text(content)):
            message = "This node's engine would fetch the picture that a text names: leave it out."
            return refused(ErrorCode.INVALID_REQUEST, message, param="messages")
    return None


def _contents(messages: object) -> Iterator[object]:
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict):
            yield from (value for name, value in message.items() if name.casefold() == "content")


def _media(content: object) -> Iterator[tuple[str, object]]:
    """Give all members within the parts of a content, however deep; those of arguments of tools are no parts."""
    unseen = [content]
    while unseen:
        value = unseen.pop()
        if isinstance(value, dict):
            yield from value.items()
            unseen += value.values()
        elif isinstance(value, list):
            unseen += value


def _is_remote(name: str, value: object) -> bool:
    name = name.casefold()
    if name.endswith("_embeds"):
        return value is not None  # vLLM reads it with an unpickler
    is_url = name == "url" or name.endswith("_url")
    return is_url and isinstance(value, str) and value[:5].casefold() != "data:"


def _text(content: object) -> str:
    """Give a content's text as TGI sees it, which joins the parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _not_json() -> Refused:
    return refused(ErrorCode.INVALID_REQUEST, "The body is not valid JSON.")
