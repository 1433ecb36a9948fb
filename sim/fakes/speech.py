"""A good answer, step by step: when its head, its tokens and its end come.

Not here: what they look like (`dialect.py`), what spoils them (`misbehaving.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from sim.fakes.dialect import Dialect, Machine, Route, Saying
from sim.fakes.steps import JSON, SSE, Head, Pause, Piece, Steps
from sim.fakes.wire_text import token_text
from sim.seed import Chance

FIRST_SPREAD = 0.4
TOKEN_SPREAD = 0.3
"""How far latencies lie from their median: a third of the tokens takes 1.35 times as long, or 1 / 1.35."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a target speaks: medians in seconds, and how many tokens go into one write.

    `prefill_token_s`: what each token of the prompt adds before the first one of the answer.
    """

    first_token_s: float
    token_s: float
    tokens_per_piece: int
    prefill_token_s: float = 0.0


class Books(Protocol):
    """Who notes how far an answer has come."""

    finished: bool
    usage: tuple[int, int] | None


class Speech:
    """Speaks for one target."""

    def __init__(self, dialect: Dialect, machine: Machine, pace: Pace, *, gives_usage: bool) -> None:
        self._dialect = dialect
        self._machine = machine
        self._pace = pace
        self._gives_usage = gives_usage

    def steps(self, saying: Saying, chance: Chance, books: Books) -> Steps:
        """Give the steps of a good answer."""
        if saying.route is Route.EMBEDDINGS:
            return self._embedded(saying, chance, books)
        return (
            self._streamed(saying, chance, books) if saying.asked.streamed else self._whole(saying, chance, books)
        )

    def _streamed(self, saying: Saying, chance: Chance, books: Books) -> Steps:
        dialect = self._dialect
        head = Head(200, SSE, dialect.headers(saying.asked))
        first_s = self._first_s(saying, chance)
        if dialect.head_first:
            yield head
            yield from self._prefilling(first_s)
        else:
            yield Pause(first_s)
            yield head
        opening = dialect.opening(saying)
        if opening:
            yield Piece(opening)
        yield from self._tokens(saying, chance)
        with_usage = self._gives_usage and saying.asked.usage_asked
        for data in dialect.closing(saying, with_usage=with_usage):
            yield Piece(data)
        books.finished = True
        if with_usage:
            books.usage = (saying.prompt_tokens, saying.tokens)

    def _first_s(self, saying: Saying, chance: Chance) -> float:
        reading_s = self._pace.prefill_token_s * saying.prompt_tokens
        return chance.around(self._pace.first_token_s, FIRST_SPREAD) + reading_s

    def _prefilling(self, first_s: float) -> Iterator[Pause | Piece]:
        """Read the prompt, with a comment now and then where the engine sends them."""
        ping_s = self._dialect.ping_s
        while ping_s is not None and first_s > ping_s:
            yield Pause(ping_s)
            yield Piece(self._dialect.ping)
            first_s -= ping_s
        yield Pause(first_s)

    def _tokens(self, saying: Saying, chance: Chance) -> Iterator[Pause | Piece]:
        pace, exchange, dialect = self._pace, saying.asked.exchange, self._dialect
        thinking = 0 if saying.legacy else self._machine.quirks.thinking_tokens
        write = dialect.first_token(saying, thinking=thinking > 0)
        for first in range(1, saying.tokens + 1, pace.tokens_per_piece):
            beyond = min(first + pace.tokens_per_piece, saying.tokens + 1)
            if first > 1:
                yield Pause(chance.around(pace.token_s * (beyond - first), TOKEN_SPREAD))
            data, says = b"", ""
            for nth in range(first, beyond):
                text = token_text(exchange, nth)
                data += write(nth, text.encode())
                says += text
                if nth in (1, thinking):
                    write = dialect.tokens(saying, thinking=nth < thinking)
            yield Piece(data, says)

    def _whole(self, saying: Saying, chance: Chance, books: Books) -> Steps:
        pace = self._pace
        writing_s = pace.token_s * max(saying.tokens - 1, 0)
        yield Pause(self._first_s(saying, chance) + chance.around(writing_s, 0.1))
        text = "".join(token_text(saying.asked.exchange, nth) for nth in range(1, saying.tokens + 1))
        body = self._dialect.whole(saying, text, with_usage=self._gives_usage)
        yield from self._body(saying, body, text, books)

    def _embedded(self, saying: Saying, chance: Chance, books: Books) -> Steps:
        yield Pause(chance.around(self._pace.first_token_s, FIRST_SPREAD))
        yield from self._body(saying, self._dialect.vectors(saying, with_usage=self._gives_usage), "", books)

    def _body(self, saying: Saying, body: bytes, text: str, books: Books) -> Steps:
        yield Head(200, JSON, self._dialect.headers(saying.asked), length=len(body))
        yield Piece(body, text)
        books.finished = True
        if self._gives_usage:
            books.usage = (saying.prompt_tokens, 0 if saying.route is Route.EMBEDDINGS else saying.tokens)
