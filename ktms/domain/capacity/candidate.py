"""A seat as the choice among seats sees it: what is fixed between two refreshes, and its credit."""

from ktms.domain.capacity.seat import NodeState, Seat
from ktms.domain.capacity.weighing import NO_CLASS, class_of
from ktms.domain.ids import NodeName

UNKNOWN_WINDOW = float("inf")
"""An unknown window excludes nothing."""


class Candidate:
    """One seat with its credit: the current weight of smooth weighted round robin, in shares of one pick.

    `kind` is the class that the credit belongs to, `group` the place of its group in a large fleet.
    """

    __slots__ = ("credit", "group", "kind", "name", "region", "row")

    def __init__(self, name: NodeName) -> None:
        self.name = name
        self.credit = 0.0
        self.kind = NO_CLASS
        self.group = 0

    def look(self, seat: Seat) -> bool:
        """Take over what a choice needs of a seat; whether its class has changed, and its credit is lost."""
        node = seat.state.node
        write_s = 1.0 / seat.decode_tokens_per_s
        self.region = node.region
        self.row: Row = (
            seat.state,
            seat,
            UNKNOWN_WINDOW if seat.window is None else seat.window,
            node.base_weight * seat.speed,
            1.0 / seat.prefill_tokens_per_s,
            write_s,
            write_s * seat.slope,
            self,
        )
        return self.move(class_of(seat))

    def move(self, kind: int) -> bool:
        """Put it into a class; one that comes from another begins at 0 there."""
        if kind == self.kind:
            return False
        self.kind, self.credit = kind, 0.0
        return True


Row = tuple[NodeState, Seat, float, float, float, float, float, Candidate]
"""State, seat, window, base weight times speed; then seconds per token: read, written, added per stream beside it.

A plain tuple: taking it apart is what the time of a choice goes into.
"""
