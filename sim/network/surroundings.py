"""What all sides of a network share, and what a wire carries."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from sim.loop import VirtualLoop
from sim.seed import Chance
from sim.trace import Trace

Address = tuple[str, int]


class Sign(Enum):
    """What a wire carries besides bytes."""

    FIN = b"FIN"
    RST = b"RST"


Parcel = bytes | Sign


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The world around a side. `gone` takes the key of a side whose process is through with it."""

    loop: VirtualLoop
    chance: Chance
    trace: Trace
    gone: Callable[[tuple[int, bool]], None]
