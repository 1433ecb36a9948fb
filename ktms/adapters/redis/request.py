"""What is asked of Redis, until it is answered. Shapes; not here: when it is sent (`link.py`)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ktms.adapters.redis.line import Words
from ktms.adapters.redis.lua import Script

Unheard = Callable[[Any], None]
"""Takes the answer that nobody waits for any more; None where it is not known whether it was carried out."""


@dataclass(slots=True, eq=False)
class Request:
    """One command, carried out at most once where somebody waits for its `answer`, until `until`.

    Where nobody waits it is kept until `until` while Redis is away, and may be carried out twice.
    `words` are the command itself, or what follows the digest where it is a script.
    """

    words: Words
    until: float
    script: Script | None = None
    answer: "asyncio.Future[Any] | None" = None
    unheard: Unheard | None = None

    @property
    def over(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.answer is not None and self.answer.done()

    def command(self) -> Words:
        """Give what is sent."""
        return self.words if self.script is None else ("EVALSHA", self.script.digest, *self.words)

    def resolve(self, answer: Any) -> None:
        """Hand the answer to whoever waits, or to `unheard`."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(answer)
        elif self.unheard is not None:
            self.unheard(answer)

    def fail(self, error: Exception) -> None:
        """Tell whoever waits that it failed; what was carried out is not known."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)
        if self.unheard is not None:
            self.unheard(None)

    def refuse(self, error: Exception) -> None:
        """Tell whoever waits that it was not carried out."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)
