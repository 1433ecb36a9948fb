"""Smooth weighted round robin, exactly as nginx does it.

For each candidate: current += weight; the largest current is picked (the earlier one among equals) and pays the
sum of all weights. Weights 5, 1, 1 give a a b a c a a: in proportion, and never in bursts. Synchronous state, no
chance: the replicas are set apart by the spin each begins with.
"""

from collections.abc import Hashable, Sequence

SPIN_MAX = 64
"""Picks a new rotation may be turned ahead: enough to spread replicas, too few to be felt."""

ROTATIONS_MAX = 1000
"""Groups kept at once: one per model and set of candidates; older ones begin anew when they return."""


class Rotation:
    """Current weights of one group of candidates; one that was absent begins at zero when it returns."""

    __slots__ = ("_current", "_spin")

    def __init__(self, spin: int = 0) -> None:
        self._current: dict[str, float] = {}
        self._spin = spin % SPIN_MAX

    def __repr__(self) -> str:
        return f"Rotation({', '.join(f'{name}={weight:g}' for name, weight in self._current.items())})"

    def pick(self, candidates: Sequence[tuple[str, float]]) -> str:
        """Pick and charge one of the candidates (name, weight above 0); names are unique."""
        assert candidates, "someone to pick"
        assert all(weight > 0 for _, weight in candidates), candidates
        turns, self._spin = self._spin + 1, 0
        for _ in range(turns - 1):
            self._turn(candidates)
        return self._turn(candidates)

    def current(self, name: str) -> float:
        """Current weight of a candidate: the larger, the sooner its turn comes."""
        return self._current.get(name, 0.0)

    def _turn(self, candidates: Sequence[tuple[str, float]]) -> str:
        current = {name: self._current.get(name, 0.0) + weight for name, weight in candidates}
        picked = max(current, key=current.__getitem__)
        current[picked] -= sum(weight for _, weight in candidates)
        self._current = current
        return picked


class Rotations:
    """Rotations by group, bounded; `spin` sets this replica apart from the others."""

    def __init__(self, spin: int = 0) -> None:
        self._spin = spin
        self._groups: dict[Hashable, Rotation] = {}

    def of(self, group: Hashable) -> Rotation:
        """Give the rotation of one group, a new one where it is not known."""
        rotation = self._groups.get(group)
        if rotation is None:
            if len(self._groups) >= ROTATIONS_MAX:
                del self._groups[next(iter(self._groups))]
            rotation = self._groups[group] = Rotation(self._spin)
        return rotation


def rotate(rotation: Rotation, candidates: Sequence[tuple[str, float]]) -> tuple[str, ...]:
    """Pick and charge the first; the others follow in the order in which their turns would come."""
    first = rotation.pick(candidates)
    soon = {name: rotation.current(name) + weight for name, weight in candidates if name != first}
    return (first, *sorted(soon, key=soon.__getitem__, reverse=True))
