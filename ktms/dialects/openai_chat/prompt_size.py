"""How much text a request holds: bytes of UTF-8, counted without decoding what need not be decoded.

Rules: images, other media and data URIs are no text; tool definitions are not counted, tool calls in the history
are; a shape that is not OpenAI's counts with its length, because refusing it is the vendor's business. An input
given as token numbers counts BYTES_PER_TOKEN each. The result is an estimate for limits and windows, never a bill.
"""

import re
from typing import NamedTuple

import msgspec

from ktms.dialects.json import decoded

BYTES_PER_TOKEN = 4
"""What one token number stands for: the usual average of English text."""


class PromptSize(NamedTuple):
    """`longest_bytes` is the largest single input: what has to fit into a window where inputs are independent."""

    text_bytes: int
    longest_bytes: int
    images: int


NO_PROMPT = PromptSize(0, 0, 0)


class _Message(msgspec.Struct, gc=False):
    content: msgspec.Raw = msgspec.Raw(b"null")
    tool_calls: msgspec.Raw = msgspec.Raw(b"")


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: msgspec.Raw = msgspec.Raw(b"null")


_messages = msgspec.json.Decoder(list[_Message]).decode
_parts = msgspec.json.Decoder(list[_Part]).decode
_inputs = msgspec.json.Decoder(list[msgspec.Raw]).decode
_string = msgspec.json.Decoder(str).decode
_IMAGES = frozenset({"image_url", "input_image", "image"})
_DATA_URI = re.compile(rb'data:[^,"\s]{0,200}+(?<=;base64),[A-Za-z0-9+/=\\]*+')
_TOKENS = re.compile(rb"\[[ \t\r\n]*+\d")


def size_of_messages(raw: bytes) -> PromptSize:
    """Count the `messages` of a chat request (JSON text)."""
    try:
        messages = decoded(_messages, raw)
    except msgspec.ValidationError:
        return PromptSize(len(raw), len(raw), 0)
    text = images = 0
    for message in messages:
        content = bytes(message.content)
        if content.startswith(b'"'):
            text += _string_bytes(content)
        elif content.startswith(b"["):
            part_bytes, part_images = _size_of_parts(content)
            text += part_bytes
            images += part_images
        text += len(message.tool_calls)
    return PromptSize(text, text, images)


def size_of_input(raw: bytes) -> PromptSize:
    """Count a `prompt` or `input` (JSON text): a text, texts, token numbers, or lists of them."""
    if not raw.startswith(b"[") or _TOKENS.match(raw):
        size = _size_of_one(raw)
        return PromptSize(size, size, 0)
    sizes = [_size_of_one(bytes(entry)) for entry in decoded(_inputs, raw)]
    return PromptSize(sum(sizes), max(sizes, default=0), 0)


def _size_of_one(raw: bytes) -> int:
    if raw.startswith(b'"'):
        return _string_bytes(raw)
    if _TOKENS.match(raw):
        return BYTES_PER_TOKEN * (raw.count(b",") + 1)
    return len(raw)


def _size_of_parts(raw: bytes) -> tuple[int, int]:
    try:
        parts = decoded(_parts, raw)
    except msgspec.ValidationError:
        return len(raw), 0
    texts = [text for part in parts if (text := bytes(part.text)).startswith(b'"')]
    return sum(map(_string_bytes, texts)), sum(part.type in _IMAGES for part in parts)


def _string_bytes(raw: bytes) -> int:
    """Bytes of a JSON string's text; decoded only where escapes make it shorter than it is written."""
    size = len(decoded(_string, raw).encode()) if b"\\" in raw else len(raw) - 2
    if b";base64," in raw:
        size = max(0, size - sum(len(uri[0]) for uri in _DATA_URI.finditer(raw)))
    return size
