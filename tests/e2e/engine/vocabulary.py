"""The vocabulary of the generated model: byte-level BPE, so that any UTF-8 prompt can be read.

All 256 bytes, the control tokens of the chat template, the marks of a tool call as single tokens, and the corpus'
words with the merges that build each from its letters, left to right.
"""

from dataclasses import dataclass, field

from gguf import TokenType

from tests.e2e.engine import template
from tests.e2e.engine.corpus import VALUES, is_mark, words

_PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
"""Bytes that byte-level BPE writes as the character of the same number; the others are moved above 255 (GPT-2)."""


def _byte_letters() -> tuple[str, ...]:
    letters = {byte: chr(byte) for byte in _PRINTABLE}
    moved = (byte for byte in range(256) if byte not in letters)
    letters |= {byte: chr(256 + place) for place, byte in enumerate(moved)}
    return tuple(letters[byte] for byte in range(256))


LETTERS = _byte_letters()


def spelled(text: str) -> str:
    """Write text as byte-level BPE stores it."""
    return "".join(LETTERS[byte] for byte in text.encode())


def closed(value: str) -> str:
    """Give a JSON string's content with the quote that ends it: one token, so that no string runs on."""
    return f'{value}"'


@dataclass(slots=True)
class Vocabulary:
    """Tokens with their types and the merges; `ids` finds a token by its stored spelling."""

    tokens: list[str] = field(default_factory=list)
    types: list[TokenType] = field(default_factory=list)
    merges: list[str] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)

    def add(self, token: str, kind: TokenType = TokenType.NORMAL) -> int:
        """Add a token unless it is there; give its id."""
        if token not in self.ids:
            self.ids[token] = len(self.tokens)
            self.tokens.append(token)
            self.types.append(kind)
        return self.ids[token]

    def byte(self, character: str) -> int:
        """Give the id of a one-byte character."""
        return self.ids[LETTERS[ord(character)]]

    def text(self, text: str) -> int:
        """Give the id of the token that stands for this text."""
        return self.ids[spelled(text)]

    def add_word(self, word: str) -> None:
        """Add a corpus word, with the space before it, and every step that builds it."""
        letters = spelled(word if is_mark(word) else f" {word}")
        built = letters[0]
        for letter in letters[1:]:
            merge = f"{built} {letter}"
            if merge not in self.merges:
                self.merges.append(merge)
            built += letter
            self.add(built)
        self.words[word] = self.ids[built]


def build() -> Vocabulary:
    """Make the vocabulary; always the same."""
    vocabulary = Vocabulary()
    for letter in LETTERS:
        vocabulary.add(letter)
    for control in (template.DOCUMENT_END, template.TURN, template.TURN_END, template.TOOL_WANTED):
        vocabulary.add(control, TokenType.CONTROL)
    for text in (template.CALL_OPEN, template.CALL_CLOSE, *map(closed, VALUES)):
        vocabulary.add(spelled(text))
    for mark in template.CALL_MARKS:
        vocabulary.add(mark, TokenType.USER_DEFINED)
    for word in sorted(set(words())):
        vocabulary.add_word(word)
    return vocabulary
