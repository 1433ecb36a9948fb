"""What the demo node says, and how it counts: one word is one token. Pure."""

import base64
import hashlib
import math
import struct
from dataclasses import dataclass

MODEL = "ktms-demo"
"""The only model the node has."""

TEXT = (
    "This is the KTMS demo node, not a language model. It gives the same answer to every question, word by word,"
    " so that you can watch a stream go through your gateway. To get real answers, start an engine on this machine"
    " (Ollama, vLLM or llama.cpp) and run the command again, or add a vendor to your configuration file."
)

VECTOR_LENGTH = 16
"""Enough to see a vector; it carries no meaning."""


@dataclass(frozen=True, slots=True)
class Speech:
    """The words of one answer, each with the space before it, and why they end."""

    words: tuple[str, ...]
    finish_reason: str

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.words)


def speech(tokens_max: int | None) -> Speech:
    """Give the answer, cut at so many words where a limit is given."""
    first, *others = TEXT.split(" ")
    words = (first, *(f" {word}" for word in others))
    if tokens_max is None or tokens_max >= len(words):
        return Speech(words, "stop")
    return Speech(words[:tokens_max], "length")


def count(texts: tuple[str, ...]) -> int:
    """Count the tokens of a prompt, at least one."""
    return max(1, sum(len(text.split()) for text in texts))


def vector(text: str) -> tuple[float, ...]:
    """Give a vector of length one that depends on the text alone."""
    digest = hashlib.shake_256(text.encode()).digest(VECTOR_LENGTH)
    numbers = [byte - 127.5 for byte in digest]  # never zero, so the vector has a direction
    length = math.sqrt(sum(number * number for number in numbers))
    return tuple(round(number / length, 6) for number in numbers)


def as_base64(numbers: tuple[float, ...]) -> str:
    """Encode a vector as OpenAI does: little-endian 32-bit floats."""
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
