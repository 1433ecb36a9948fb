"""Planted bugs of what lies beside the calls: permits, ledgers, batches, what is kept, ports and the loop.

Not here: those of calls and of the fleet (`bugs.py`).
"""

from ktms.adapters.upstream_http.dialler import Dialler
from ktms.api.port import Port
from ktms.engine.batch_worker import BatchWorker
from ktms.engine.flights import Flight
from ktms.engine.loop_watch import LoopWatch
from ktms.engine.permit import Permit
from ktms.engine.sieve import Sieve
from ktms.engine.snapshot_keeper import SnapshotKeeper
from ktms.engine.spending import Spending
from sim.planted.bug import Bug

BESIDE = (
    Bug(
        "asked-before-granted",
        "a target is asked before it is known whether the call's limits allow it",
        Permit.granted,
        "        await self._reserving\n    else",
        "        pass\n    else",
        "explore-ports",
    ),
    Bug(
        "silent-ledger-waited-for",
        "every call waits for a ledger that has just failed",
        Spending._silenced,
        "return self._retry_at is not None and (self._is_tried or self._clock.monotonic() < self._retry_at)",
        "return False",
        "fr11-untold",
        seeds_max=20,
    ),
    Bug(
        "refused-is-set-aside",
        "an event is set aside although the ledger takes none of its neighbours either",
        Sieve.sift,
        "if not is_stuck_for_long or not await self._is_alone(events):",
        "if not is_stuck_for_long:",
        "fl1-refuses",
        seeds_max=20,
    ),
    Bug(
        "hung-fetch-waited-for",
        "whoever asks what another one asks waits for it, be it hung",
        Flight.outcome,
        "min(until, self._hangs_at)",
        "until",
        "s32-hot-question",
        seeds_max=20,
    ),
    Bug(
        "claims-not-renewed",
        "lines of batches are claimed, and their claims never renewed",
        BatchWorker._renews,
        "await self._renew()",
        "pass",
        "s46-batch-killed",
        seeds_max=60,
    ),
    Bug(
        "saved-counts-for-ever",
        "what was saved on the disk counts however old it is",
        SnapshotKeeper.restore,
        "means.key_window_s",
        "1e9",
        "fp9-old",
        seeds_max=20,
    ),
    Bug(
        "one-stall-is-overload",
        "after a single stall of the loop calls are refused as in an overload",
        LoopWatch.looked,
        "self._late_looks + 1 if",
        "self._late_looks + 3 if",
        "fg7-still",
        seeds_max=20,
    ),
    Bug(
        "port-looks-all-the-time",
        "a port without descriptors looks for some five hundred times a second",
        Port._pause,
        "PAUSE_S",
        "PAUSE_S / 50",
        "fg8-files",
        seeds_max=20,
    ),
    Bug(
        "own-lack-is-the-targets",
        "a target whose name we have no descriptor to ask for counts as one that refuses",
        Dialler._allowed,
        "in _EXHAUSTED:",
        "in ():",
        "fg8-files",
        seeds_max=20,
    ),
)
