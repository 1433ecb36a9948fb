"""Calls that carry an Idempotency-Key: which of them ran already, and what they answered."""

from dataclasses import dataclass
from typing import Protocol

from ktms.domain.ids import KeyId, RequestId

KEPT_S = 24 * 3600.0
"""How long an answer can be had again; then the same key begins a new call."""


@dataclass(frozen=True, slots=True)
class Repeatable:
    """One call under its key: who made it, the digest of its route and body, its own id, until when it may run.

    `owner` and `key` together name it: two clients that use one word do not meet. `runs_s`: a call that has not
    ended by then (its replica was killed) is given up, and the key may begin again.
    """

    owner: KeyId
    key: str
    body_digest: bytes
    request: RequestId
    runs_s: float


@dataclass(frozen=True, slots=True)
class Begun:
    """This call runs; nobody else of the same key does before it has ended."""


@dataclass(frozen=True, slots=True)
class Running:
    """Another call of this key is still under way."""


@dataclass(frozen=True, slots=True)
class OtherBody:
    """The key was used with another body or on another route."""


@dataclass(frozen=True, slots=True)
class Kept:
    """It ran: `request` is the call that did, `answer` what it answered (None: too large to be kept)."""

    request: RequestId
    answer: bytes | None


class Repeats(Protocol):
    """Remembers calls by their keys. All raise StoreAway (ports/catalogue.py) when the store does not answer."""

    async def begin(self, call: Repeatable) -> Begun | Running | OtherBody | Kept:
        """Begin a call, or say what is known of the one that had its key first. One step for all replicas."""
        ...

    async def keep(self, call: Repeatable, answer: bytes | None) -> None:
        """Keep the answer of a call that has begun, encrypted, for KEPT_S; twice is harmless."""
        ...

    async def give_up(self, call: Repeatable) -> None:
        """Forget a call that has begun and came to nothing: its key may begin again."""
        ...

    async def forget_old(self) -> bool:
        """Remove some of what is over by now; whether there may be more."""
        ...
