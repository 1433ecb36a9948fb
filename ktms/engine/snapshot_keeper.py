"""The snapshot on disk: saved after each refresh, read once at a start without Postgres (FP9).

Rules: saving is beside the calls and beside the refresh, one at a time, bounded; a disk that fails costs the file
and nothing else. It is read only where the database does not answer: what that says is never overruled.
Not here: what of a saved snapshot still counts (`domain/saved_snapshot.py`).
"""

import asyncio
from dataclasses import dataclass

from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.saved_snapshot import Moment, Restored, TooOld, restored, saved_snapshot
from ktms.engine.admit import Admission
from ktms.engine.current import Current
from ktms.ports.clock import Clock
from ktms.ports.snapshot_file import SnapshotFile, SnapshotUnusable
from ktms.ports.telemetry import Count, Gauge, Telemetry

DISK_S = 3.0
"""A start waits this long for the disk at most; so does one saving, and the next refresh makes the next one."""

UNUSABLE = "saved_snapshot_unusable"
"""The one line of a start that has a file and cannot use it."""


@dataclass(frozen=True, slots=True)
class KeeperMeans:
    """What is kept and by which clock; `file` None: nothing is."""

    file: SnapshotFile | None
    admission: Admission
    current: Current
    clock: Clock
    telemetry: Telemetry
    key_window_s: float


class SnapshotKeeper:
    """Saves what this replica would need to start alone. `started_alone`: it has."""

    def __init__(self, means: KeeperMeans) -> None:
        self._means = means
        self._due = asyncio.Event()
        self._failed = False
        self.started_alone = False

    def refreshed(self) -> None:
        """Note that what is in force is the newest: it is to be saved."""
        self._due.set()

    async def run(self) -> None:
        """Save after each refresh, until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            await self.save()

    async def save(self) -> None:
        """Save what is in force, and the keys verified by now."""
        means = self._means
        snapshot, answered_at = means.current.snapshot, means.admission.answered_at
        if means.file is None or snapshot is None or answered_at is None:
            return  # without an answer about keys there is nothing that a start could let anybody in with
        kept = saved_snapshot(
            snapshot,
            means.admission.sightings(),
            confirmed_at=means.current.confirmed_at,
            answered_at=answered_at,
            now=self._now(),
        )
        try:
            async with asyncio.timeout(DISK_S):
                await means.file.save(kept)
        except (SnapshotUnusable, TimeoutError) as error:
            self._not_saved(error)
        else:
            self._failed = False
            means.telemetry.counted(Count.SNAPSHOT_SAVES, label="saved")
            means.telemetry.gauge(Gauge.SNAPSHOT_SAVED_AT, kept.saved_at.wall)

    async def restore(self) -> None:
        """Put what was saved in force, where it still counts; one line says what came of it."""
        means = self._means
        if means.file is None:
            return
        try:
            async with asyncio.timeout(DISK_S):
                saved = await means.file.load()
            found = None if saved is None else restored(saved, self._now(), means.key_window_s)
        except (SnapshotUnusable, CatalogueInvalid, TimeoutError) as error:
            means.telemetry.event("warning", UNUSABLE, reason=_reason(error))
            return
        match found:
            case None:
                means.telemetry.event("warning", UNUSABLE, reason="none was saved yet")
            case TooOld(age_s):
                reason = "Postgres last answered longer ago than keys count, or a clock is wrong"
                means.telemetry.event("warning", UNUSABLE, reason=reason, age_s=age_s)
            case Restored():
                self._put_in_force(found)

    def _put_in_force(self, found: Restored) -> None:
        means, now = self._means, self._means.clock.monotonic()
        means.current.restore(found.snapshot, now - found.confirmed_ago_s)
        means.admission.restore(found.keys, found.answered_ago_s)
        self.started_alone = True
        means.telemetry.gauge(Gauge.SNAPSHOT_VERSION, means.current.version)
        means.telemetry.gauge(Gauge.SNAPSHOT_AGE_S, means.current.age_s)
        means.telemetry.event(
            "warning",
            "started_from_saved_snapshot",
            version=found.snapshot.version,
            keys=len(found.keys),
            age_s=round(found.answered_ago_s, 1),
        )

    def _not_saved(self, error: Exception) -> None:
        """Count it; only the first failure after a success is a line."""
        self._means.telemetry.counted(Count.SNAPSHOT_SAVES, label="failed")
        if not self._failed:
            self._failed = True
            self._means.telemetry.event("warning", "snapshot_not_saved", reason=_reason(error))

    def _now(self) -> Moment:
        return Moment(self._means.clock.wall(), self._means.clock.monotonic())


def _reason(error: Exception) -> str:
    return "the disk does not answer" if isinstance(error, TimeoutError) else str(error)
