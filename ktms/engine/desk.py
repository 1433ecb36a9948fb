"""One model on our machines: its seats, who is next, and how long a slot is held.

Shapes and small sums; the rules are pure (`domain/capacity/`), what changes a desk is `fleet.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ktms.domain.capacity.fleet_status import QueueStatus
from ktms.domain.capacity.seat import Health, NodeState, Seat
from ktms.domain.capacity.selection import Selector
from ktms.domain.capacity.wait_forecast import (
    PROGRESS_SLOTS_MAX,
    Calibration,
    HoldingTimes,
    forecast_s,
    sharpened_s,
)
from ktms.domain.catalogue import Selection
from ktms.domain.ids import LeaseId, ModelName, NodeName, VendorModel

_TAKES_NOTHING = frozenset({Health.DOWN, Health.BARRED})

DeskKey = tuple[ModelName, VendorModel, Selection]
"""What keeps a desk its own over changes of the catalogue: its holding times are worth keeping."""


@dataclass(slots=True, eq=False)
class Desk:
    """`elsewhere`: waiters of other replicas, as last seen; `here`: our own; `since`: when our leases began.

    `sharing`: all desks on the very same nodes, this one too: who waits at one waits for the same slots.
    `near`: all desks that have a node in common with this one, this one too.
    """

    model: ModelName
    vendor_model: VendorModel
    selector: Selector
    seats: tuple[Seat, ...] = ()
    holding: HoldingTimes = field(default_factory=HoldingTimes)
    calibration: Calibration = field(default_factory=Calibration)
    elsewhere: int = 0
    here: int = 0
    since: dict[LeaseId, float] = field(default_factory=dict)
    sharing: tuple["Desk", ...] = field(default=(), repr=False)
    near: tuple["Desk", ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        self.sharing = self.sharing or (self,)
        self.near = self.near or (self,)

    def forecast_s(self, now: float, *, ahead: int, slots: int) -> float:
        """Seconds until a slot is free for one more who has so many ahead; infinite without slots."""
        depth = ahead + self._waiting_elsewhere() + 1
        mean_s = self.holding.mean_s
        large = max(slots, len(self.seats)) > PROGRESS_SLOTS_MAX
        others = () if large else (at for state in self._states() for at in state.others.since)
        since = () if large else (*(at for desk in self.sharing for at in desk.since.values()), *others)
        if slots <= 0 or len(since) * 2 < slots:  # too little is known of the progress of what runs
            return forecast_s(depth=depth, holding_s=mean_s, slots=slots)
        left_s = [self.holding.left_s(now - at) for at in since]
        left_s += [mean_s] * (slots - len(since))  # whoever is not known yet has just begun
        return sharpened_s(depth=depth, holding_s=mean_s, left_s=left_s)

    def status(self, now: float) -> QueueStatus:
        """Give this desk's queue in figures."""
        states = [state for state in self._states() if not state.draining and state.health not in _TAKES_NOTHING]
        slots = sum(state.slots for state in states)
        busy = sum(min(state.busy, state.slots) for state in states)
        free, ahead = busy < slots, sum(desk.here for desk in self.sharing)
        return QueueStatus(
            model=self.model,
            waiting=self.here + self.elsewhere,
            slots=slots,
            busy=busy,
            holding_s=self.holding.mean_s,
            forecast_s=None if not slots else 0.0 if free else self.forecast_s(now, ahead=ahead, slots=slots),
        )

    def _waiting_elsewhere(self) -> int:
        """Count waiters of other replicas; those of one public model are counted together, whatever its desks."""
        return sum({desk.model: desk.elsewhere for desk in self.sharing}.values())

    def _states(self) -> Iterable[NodeState]:
        return {id(seat.state): seat.state for seat in self.seats}.values()


def tell_who_shares(desks: Iterable[Desk]) -> None:
    """Tell desks on the very same nodes of each other; those that share only some of their nodes stay apart."""
    sharing: dict[frozenset[NodeName], list[Desk]] = {}
    at: dict[NodeName, list[Desk]] = {}
    for desk in desks:
        for seat in desk.seats:
            at.setdefault(seat.state.node.name, []).append(desk)
        sharing.setdefault(frozenset(seat.state.node.name for seat in desk.seats), []).append(desk)
    for together in sharing.values():
        shared = tuple(together)
        for desk in together:
            desk.sharing = shared
            near = dict.fromkeys(other for seat in desk.seats for other in at[seat.state.node.name])
            desk.near = tuple(near) or (desk,)
