"""How often one node may announce itself, per replica: a steady rate with a short burst (GCRA).

An agent announces twice a minute and once per change; an installer asks to be dialled back a few times. What comes
faster is a fault of the agent, and each announcement costs the database a look.
"""

from ktms.domain.ids import NodeName

ANNOUNCES_PER_MINUTE_MAX = 12
"""Six times what an agent needs."""

ANNOUNCE_BURST_MAX = 6
"""A start, its first changes and a dial-back come at once."""

NODES_REMEMBERED_MAX = 10_000
"""More nodes than a catalogue holds; only nodes with a valid key are remembered at all."""

_PERIOD_S = 60.0 / ANNOUNCES_PER_MINUTE_MAX
_AHEAD_MAX_S = _PERIOD_S * (ANNOUNCE_BURST_MAX - 1)
"""How far the next announcement may be due ahead of now: what a burst leaves behind."""


class AnnounceRate:
    """Remembers for each node when its next announcement would be due at the steady rate."""

    def __init__(self) -> None:
        self._due: dict[NodeName, float] = {}

    def wait_s(self, node: NodeName, now: float) -> float:
        """Count one announcement; 0 when it may pass, else how long the node must wait, uncounted."""
        due = max(self._due.get(node, now), now)
        if due - now > _AHEAD_MAX_S:
            return due - now - _AHEAD_MAX_S
        if len(self._due) >= NODES_REMEMBERED_MAX and node not in self._due:
            self._due = {name: at for name, at in self._due.items() if at > now}
        self._due[node] = due + _PERIOD_S
        return 0.0
