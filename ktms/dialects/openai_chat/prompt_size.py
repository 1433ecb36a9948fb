"""How much text a request holds: bytes of UTF-8, counted without decoding what need not be decoded.

Rules: all that a model reads counts, tool calls and reasoning of the history included; parts of a message that are
no text (images, audio, files) are counted by number; a data URI inside text is text for the model, and none for a
window, which may never be said to be too small by mistake. A shape that is not OpenAI's counts with its length,
because refusing it is the vendor's business. An input given as token numbers counts BYTES_PER_TOKEN each. The
result is an estimate for limits and windows. Not here: tools and other members beside the prompt (`request.py`).
"""

import re
from typing import NamedTuple

import msgspec

from ktms.dialects.json import decoded

BYTES_PER_TOKEN = 4
"""What one token number stands for: the usual average of English text."""

_NULL_BYTES = 4


class PromptSize(NamedTuple):
    """`longest_bytes` is the largest single input: what has to fit into a window where inputs are independent.

    `images` counts all parts that are no text; `prompts` how many inputs there are, each of which is answered.
    """

    text_bytes: int
    longest_bytes: int
    images: int
    prompts: int = 1


NO_PROMPT = PromptSize(0, 0, 0)


_NULL = msgspec.Raw(b"null")


class _Message(msgspec.Struct, gc=False):
    content: msgspec.Raw = _NULL
    tool_calls: msgspec.Raw = _NULL
    function_call: msgspec.Raw = _NULL
    reasoning_content: msgspec.Raw = _NULL
    reasoning: msgspec.Raw = _NULL
    refusal: msgspec.Raw = _NULL


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: msgspec.Raw = _NULL
    refusal: msgspec.Raw = _NULL
    thinking: msgspec.Raw = _NULL
    content: msgspec.Raw = _NULL


_messages = msgspec.json.Decoder(list[_Message]).decode
_parts = msgspec.json.Decoder(list[_Part]).decode
_inputs = msgspec.json.Decoder(list[msgspec.Raw]).decode
_string = msgspec.json.Decoder(str).decode
_TEXTS = frozenset({"", "text", "input_text", "output_text", "refusal", "thinking", "tool_result"})
"""Types of parts that hold text; all others are counted as images."""

_DATA_URI = re.compile(rb'data:[^,"\s]{0,200}+(?<=;base64),[A-Za-z0-9+/=\\]*+')
_TOKENS = re.compile(rb"\[[ \t\r\n]*+\d")


def size_of_messages(raw: bytes) -> PromptSize:
    """Count the `messages` of a chat request (JSON text)."""
    try:
        messages = decoded(_messages, raw)
    except msgspec.ValidationError:
        return PromptSize(len(raw), len(raw), 0)
    text = uris = images = 0
    for message in messages:
        content = bytes(message.content)
        if content.startswith(b'"'):
            size, of_uris = _string_bytes(content)
        elif content.startswith(b"["):
            size, of_uris, its_images = _size_of_parts(content)
            images += its_images
        else:
            size, of_uris = value_bytes(content), 0
        text += size
        for other in (
            message.tool_calls,
            message.function_call,
            message.reasoning_content,
            message.reasoning,
            message.refusal,
        ):
            if other is not _NULL:  # most messages have none of these, and this is asked for each of each call
                text += value_bytes(other)
        uris += of_uris
    return PromptSize(text, text - uris, images)


def size_of_input(raw: bytes) -> PromptSize:
    """Count a `prompt` or `input` (JSON text): a text, texts, token numbers, or lists of them."""
    if not raw.startswith(b"[") or _TOKENS.match(raw):
        size, of_uris = _size_of_one(raw)
        return PromptSize(size, size - of_uris, 0)
    sizes = [_size_of_one(bytes(entry)) for entry in decoded(_inputs, raw)]
    longest = max((size - of_uris for size, of_uris in sizes), default=0)
    return PromptSize(sum(size for size, _ in sizes), longest, 0, len(sizes))


def value_bytes(raw: bytes | msgspec.Raw) -> int:
    """Give the length of a value; null is none."""
    size = len(raw)
    return 0 if size == _NULL_BYTES and bytes(raw) == b"null" else size


def _size_of_one(raw: bytes) -> tuple[int, int]:
    if raw.startswith(b'"'):
        return _string_bytes(raw)
    if _TOKENS.match(raw):
        return BYTES_PER_TOKEN * (raw.count(b",") + 1), 0
    return len(raw), 0


def _size_of_parts(raw: bytes) -> tuple[int, int, int]:
    """Give the bytes of text, those of data URIs among them, and how many parts are no text."""
    try:
        parts = decoded(_parts, raw)
    except msgspec.ValidationError:
        return len(raw), 0, 0
    text = uris = images = 0
    for part in parts:
        its = bytes(part.text)
        if its.startswith(b'"'):
            size, of_uris = _string_bytes(its)
            text, uris = text + size, uris + of_uris
        elif part.type not in _TEXTS:
            images += 1
        text += value_bytes(part.refusal) + value_bytes(part.thinking) + value_bytes(part.content)
    return text, uris, images


def _string_bytes(raw: bytes) -> tuple[int, int]:
    """Bytes of a JSON string's text, and those of data URIs in it; decoded only where escapes make it shorter."""
    size = len(decoded(_string, raw).encode()) if b"\\" in raw else len(raw) - 2
    if b";base64," not in raw:
        return size, 0
    return size, min(size, sum(len(uri[0]) for uri in _DATA_URI.finditer(raw)))
