"""The terms of a node's weight, each by itself: class, load, speed, expected finish.

The choice (`selection.py`) computes the same in loops of its own, for speed; a test holds the two together.
"""

from ktms.domain.capacity.seat import Health, Seat

CLASSES = tuple(
    (health, cold) for health in (Health.HEALTHY, Health.SUSPECT, Health.BARRED) for cold in (False, True)
)
"""Health and whether cold, the best class first. A node that is down is in none of them."""

BARRED_FROM = CLASSES.index((Health.BARRED, False))
"""From here on the classes are those of nodes that refuse our token."""

_FIRST_OF = {health: place for place, (health, cold) in enumerate(CLASSES) if not cold}

NO_CLASS = -1
"""Of a node that takes nothing: down, or draining."""


def class_of(seat: Seat) -> int:
    """Give the place in CLASSES; NO_CLASS where nothing may be sent."""
    state = seat.state
    if state.draining or state.health is Health.DOWN:
        return NO_CLASS
    return _FIRST_OF[state.health] + seat.cold


def load_term(busy: int, slots: int) -> float:
    """Give what the load leaves of a weight: 1 when idle, 0 when full."""
    if busy >= slots:
        return 0.0
    share = busy / slots
    return 1.0 - share * share


def weight(seat: Seat) -> float:
    """Give the weight of a seat as it is now."""
    state = seat.state
    return state.node.base_weight * seat.speed * load_term(state.taken, state.slots)


def finish_s(seat: Seat, uncached_tokens: int, output_tokens: int) -> float:
    """Expect how long one more answer takes there, next to those that run."""
    decode_tokens_per_s = seat.decode_tokens_per_s / (1.0 + seat.slope * seat.state.taken)
    return uncached_tokens / seat.prefill_tokens_per_s + output_tokens / decode_tokens_per_s
