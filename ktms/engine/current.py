"""The snapshot in force: swapped whole, never replaced by one that does not compile (FP4)."""

from collections.abc import Callable

from ktms.domain.snapshot import Snapshot
from ktms.ports.clock import Clock


class Current:
    """Holds the newest good snapshot and when the store last had it as its newest (`confirmed_at`, monotonic).

    `saved`: it was read from disk, and the store has not been asked since.
    """

    def __init__(self, snapshot: Snapshot | None, clock: Clock) -> None:
        self._clock = clock
        self._followers: list[Callable[[Snapshot], None]] = []
        self.snapshot = snapshot
        self.confirmed_at = clock.monotonic()
        self.saved = False

    def on_swap(self, follower: Callable[[Snapshot], None]) -> None:
        """Let somebody follow: told at once what is in force, and of each newer one before calls see it."""
        self._followers.append(follower)
        if self.snapshot is not None:
            follower(self.snapshot)

    def swap(self, snapshot: Snapshot) -> None:
        """Put a newer snapshot in force; calls under way keep the one they began with."""
        for follower in self._followers:
            follower(snapshot)
        self.snapshot = snapshot
        self.saved = False
        self.confirm()

    def restore(self, snapshot: Snapshot, confirmed_at: float) -> None:
        """Put a saved snapshot in force, until the store answers."""
        self.swap(snapshot)
        self.saved, self.confirmed_at = True, confirmed_at

    def confirm(self) -> None:
        """Note that the store still has this version as its newest."""
        self.confirmed_at = self._clock.monotonic()

    @property
    def version(self) -> int:
        """Version in force; 0 when there is none yet."""
        return 0 if self.snapshot is None else self.snapshot.version

    @property
    def age_s(self) -> float:
        """Seconds since the store last confirmed this version."""
        return self._clock.monotonic() - self.confirmed_at
