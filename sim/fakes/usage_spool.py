"""Where the usage events of one replica wait, each of them a fact when it is recorded and when it is lost.

In memory it is production's own. With a folder it is a fake disk of the machine: it survives the process, whose
successor begins with all that was not forgotten yet, and with some that were, since what was read is noted lazily.
"""

import math
from collections.abc import Sequence
from itertools import islice

from ktms.adapters.memory.usage_spool import MemoryUsageSpool
from ktms.domain.access.usage_event import UsageEvent
from ktms.domain.ids import LOCAL
from sim.journal.journal import Journal

REMEMBERED_MAX = 20
"""Events that are read again after a crash although the ledger has them."""


class SpoolFolder:
    """A disk: what lies there, the oldest first, and the last few that are done with."""

    def __init__(self) -> None:
        self.waiting: list[UsageEvent] = []
        self.done: list[UsageEvent] = []


class FolderSpool:
    """Implements the `Spool` port for one process on a disk that outlives it."""

    def __init__(self, folder: SpoolFolder) -> None:
        folder.waiting[:0], folder.done = folder.done, []
        self._folder = folder
        self.lost_total = 0

    @property
    def events(self) -> Sequence[UsageEvent]:
        """All that wait."""
        return self._folder.waiting

    @property
    def depth(self) -> int:
        """How many events wait."""
        return len(self._folder.waiting)

    def put(self, event: UsageEvent) -> None:
        """Take one event."""
        self._folder.waiting.append(event)

    def oldest(self, count_max: int) -> Sequence[UsageEvent]:
        """Lend the oldest."""
        return tuple(islice(self._folder.waiting, count_max))

    def forget(self, count: int) -> None:
        """Forget the oldest."""
        folder = self._folder
        folder.done = [*folder.done, *folder.waiting[:count]][-REMEMBERED_MAX:]
        del folder.waiting[:count]

    def close(self) -> None:
        """Leave everything on the disk; what is done with is gone for good."""
        self._folder.done = []


class JournalSpool:
    """Implements the `Spool` port for one process, and notes what it is told and what it loses.

    Without a folder it holds `events_max` in memory.
    """

    def __init__(self, host: str, journal: Journal, folder: SpoolFolder | None, events_max: int) -> None:
        self._host = host
        self._journal = journal
        self._events_max = math.inf if folder is not None else events_max
        self._spool = MemoryUsageSpool(events_max) if folder is None else FolderSpool(folder)

    @property
    def depth(self) -> int:
        """How many events wait."""
        return self._spool.depth

    @property
    def lost_total(self) -> int:
        """How many were lost."""
        return self._spool.lost_total

    def put(self, event: UsageEvent) -> None:
        """Note one event, and the one that is lost by it."""
        note_usage(self._journal, self._host, event)
        lost_before = self._spool.lost_total
        full = self._spool.depth >= self._events_max
        before = [one.id for one in (*self._spool.events, event)] if full else [event.id]
        self._spool.put(event)
        if self._spool.lost_total > lost_before:
            kept = {one.id for one in self._spool.events}
            lost = [name for name in before if name not in kept]
            self._journal.note("usage_dropped", self._host, ids=" ".join(lost))

    def oldest(self, count_max: int) -> Sequence[UsageEvent]:
        """Lend the oldest."""
        return self._spool.oldest(count_max)

    def forget(self, count: int) -> None:
        """Forget the oldest."""
        self._spool.forget(count)

    def close(self) -> None:
        """Let go, and note what is lost with the process."""
        lost_before = self._spool.lost_total
        left = [event.id for event in self._spool.events]
        self._spool.close()
        if self._spool.lost_total > lost_before:
            self._journal.note("usage_dropped", self._host, ids=" ".join(left))


def note_usage(journal: Journal, host: str, event: UsageEvent) -> None:
    """Note one event; its target is the node for a machine of ours, else the vendor."""
    usage = event.usage
    journal.note(
        "usage",
        host,
        event_id=event.id,
        request_id=event.request_id,
        target=event.node if event.vendor == LOCAL else event.vendor,
        node=event.node,
        status=event.status.value,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        estimated=usage.estimated,
        vendor=event.vendor,
        model=event.model,
        chain=event.chain,
        vendor_model=event.vendor_model,
        key=event.key_id,
        tenant=event.tenant,
        http_status=event.http_status,
        streamed=event.streamed,
        started_at=event.started_at,
        duration_s=event.duration_s,
        first_token_s=event.first_token_s,
        cost_picos=event.cost_picos,
        cloud_picos=event.cloud_picos,
        priced=event.priced,
        uncounted=event.uncounted,
        from_cache=event.from_cache,
        batch=None if event.batch_line is None else event.batch_line.batch,
        line=None if event.batch_line is None else event.batch_line.line,
    )
