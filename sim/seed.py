"""One seed decides everything: a tree of named streams of chance.

Rules: a stream depends on the seed and on its own path alone, so taking a call, a fault or a node out of a world
changes nothing for the others; this is the only module of the simulator that knows `random`.
"""

import hashlib
import math
import random  # noqa: TID251  # the one source of chance in a world
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

SEED_MAX = 2**64 - 1
"""What fits into eight bytes, so that a seed can be drawn, printed and copied anywhere."""


class SeedInvalid(ValueError):
    """What was given is no seed; the message says what one looks like."""


def read_seed(text: str) -> int:
    """Read a seed as people type it.

    Raises:
        SeedInvalid: not a whole number from 0 to 2^64 - 1, decimal or 0x….
    """
    try:
        value = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        value = -1
    if not 0 <= value <= SEED_MAX:
        raise SeedInvalid(f"{text!r} is no seed: give a whole number from 0 to 2^64 - 1, as in 42 or 0x2a")
    return value


class Chance:
    """One stream of chance."""

    __slots__ = ("_random",)

    def __init__(self, key: bytes) -> None:
        self._random = random.Random(int.from_bytes(hashlib.sha256(key).digest()[:16]))

    def unit(self) -> float:
        """Draw from [0, 1)."""
        return self._random.random()

    def uniform(self, low: float, high: float) -> float:
        """Draw a number between the two."""
        return low + (high - low) * self._random.random()

    def between(self, low: int, high: int) -> int:
        """Draw a whole number, both bounds included."""
        return self._random.randint(low, high)

    def happens(self, share: float) -> bool:
        """Say yes with this probability."""
        return self._random.random() < share

    def pick(self, things: Sequence[T]) -> T:
        """Choose one."""
        return things[self._random.randrange(len(things))]

    def some(self, things: Sequence[T], count: int) -> list[T]:
        """Choose so many different ones, in the order of the things."""
        chosen = set(self._random.sample(range(len(things)), min(count, len(things))))
        return [thing for at, thing in enumerate(things) if at in chosen]

    def wait_s(self, mean_s: float) -> float:
        """Draw a waiting time of independent arrivals."""
        return self._random.expovariate(1 / mean_s)

    def around(self, median: float, spread: float) -> float:
        """Draw from a log-normal: half below the median; `spread` 0.5 means two thirds within a factor of 1.65."""
        return median * math.exp(self._random.gauss(0, spread))

    def token_bytes(self, count: int) -> bytes:
        """Draw bytes."""
        return self._random.randbytes(count)


class Seed:
    """A place in the tree."""

    __slots__ = ("path", "value")

    def __init__(self, value: int, path: str = "") -> None:
        self.value = value
        self.path = path

    def __repr__(self) -> str:
        return f"Seed({self.value}{self.path})"

    def child(self, name: object) -> "Seed":
        """Give the place of this name below."""
        return Seed(self.value, f"{self.path}/{name}")

    def chance(self, name: object = "") -> Chance:
        """Give a fresh stream; the same place and name always give the same."""
        return Chance(f"{self.value}{self.path}/{name}".encode())
