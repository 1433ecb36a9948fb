"""The fleet as one replica sees it: a state per node, and a seat per model that a node serves.

Mutable on purpose: one object per node and model lives as long as the node stands in the catalogue, and evidence,
leases and refreshes change it in place, so that a choice reads and computes nothing twice. Not here: what changes
them (`node_health.py`, `speed.py`), who is chosen (`selection.py`).
"""

from dataclasses import dataclass, field
from enum import IntEnum

from ktms.domain.capacity.engine_metrics import UNKNOWN_LOAD, EngineLoad
from ktms.domain.capacity.holders import Holders
from ktms.domain.ids import VendorModel
from ktms.domain.snapshot import Node


class Health(IntEnum):
    """How a node does; the numbers are what its gauge shows. BARRED: it answers, but refuses our token."""

    HEALTHY = 0
    SUSPECT = 1
    DOWN = 2
    BARRED = 3


PREFILL_UNKNOWN_TOKENS_PER_S = 500.0
DECODE_UNKNOWN_TOKENS_PER_S = 30.0
"""Assumed while nothing was measured: an ordinary desktop GPU. Only the order among nodes depends on it."""


class NodeState:
    """One node. `busy`: leases as last seen, and counted by ourselves since; `slots`: how many it has at once.

    `ours`: leases of this replica; `others`: what is known of the rest. `load`: what the engine said of itself.
    `taken` is what a choice counts: `busy`, or the calls that the engine told of where those are more, since load
    that comes past us shows nowhere else. Leases decide who gets a slot, whatever an engine tells (N10).
    """

    __slots__ = (
        "_busy",
        "_says_draining",
        "_told",
        "draining",
        "health",
        "load",
        "node",
        "others",
        "ours",
        "slots",
        "taken",
    )

    def __init__(
        self, node: Node, slots: int, busy: int = 0, health: Health = Health.HEALTHY, draining: bool = False
    ) -> None:
        self.node = node
        self.slots = slots
        self.health = health
        self._says_draining = draining
        self.draining = draining or node.draining  # kept as `taken` is
        self.ours = 0
        self.others = Holders()
        self.load = UNKNOWN_LOAD
        self._told = 0
        self._busy = self.taken = busy  # kept at each change: a choice reads it of every node

    def __repr__(self) -> str:
        return f"NodeState({self.node.name}, {self.taken} of {self.slots})"

    @property
    def busy(self) -> int:
        """Leases."""
        return self._busy

    @busy.setter
    def busy(self, leases: int) -> None:
        self._busy = leases
        self.taken = max(leases, self._told)

    def hear(self, load: EngineLoad) -> None:
        """Take what the engine said of its load; UNKNOWN_LOAD forgets what it said before."""
        self.load = load
        self._told = load.calls or 0
        self.taken = max(self._busy, self._told)

    def follow(self, node: Node) -> bool:
        """Take over what the catalogue says now; whether it says that the node drains no longer.

        That is newer than what the node itself has said of it.
        """
        back = self.node.draining and not node.draining
        self.node = node
        self.drains(says=self._says_draining and not back)
        return back

    def drains(self, *, says: bool) -> None:
        """Take what the node itself says: whether it takes nothing new."""
        self._says_draining = says
        self.draining = says or self.node.draining

    def done(self, calls: int) -> None:
        """Note that so many calls ended since the engine spoke, so that it has as many fewer."""
        self._told = max(0, self._told - calls)
        self.taken = max(self._busy, self._told)


@dataclass(slots=True, eq=False)
class Seat:
    """One model on one node.

    `vendor_model` is the node's own spelling; `window` in tokens per slot, None: unknown: the smallest of what was
    declared, what the node tells, which may become more again, and what it has `shown`. `cold`: the model is not
    in memory, or has not answered since it was loaded. `speed` is the factor of the weight (1 where nothing is
    known); the rates are those of one stream on an idle node, `slope` how much each further one slows all of them.
    """

    state: NodeState
    vendor_model: VendorModel
    window: int | None
    cold: bool = False
    speed: float = 1.0
    prefill_tokens_per_s: float = PREFILL_UNKNOWN_TOKENS_PER_S
    decode_tokens_per_s: float = DECODE_UNKNOWN_TOKENS_PER_S
    slope: float = 0.35
    declared: int | None = field(init=False)
    told: int | None = None
    shown: int | None = None

    def __post_init__(self) -> None:
        self.declared = self.window

    def declare(self, window: int | None) -> None:
        """Take a window that was declared anew: what is known of the old one says nothing of it."""
        self.window = self.declared = window
        self.told = self.shown = None

    def tell(self, window: int) -> None:
        """Take what the node says of its window now."""
        self.told = window
        self._settle()

    def show(self, window: int) -> None:
        """Take what the node has shown of its window, whatever it says."""
        self.shown = window if self.shown is None else min(self.shown, window)
        self._settle()

    def _settle(self) -> None:
        self.window = min(one for one in (self.declared, self.told, self.shown) if one is not None)
