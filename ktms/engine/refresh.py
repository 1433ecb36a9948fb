"""What runs beside the calls: newer catalogue, changed keys, verification of the keys in use.

Rules: news come by notification and, should one be lost, by a poll; whatever fails here leaves what is in force in
force and is told to telemetry. Every loop waits with jitter, so replicas do not ask in step (FP8).
Not here: which snapshot is good (it compiles or it does not: `domain/routing/compile.py`).
"""

import asyncio
from collections.abc import Callable

from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.engine.admit import Admission
from ktms.engine.current import Current
from ktms.engine.lasting import run_lasting
from ktms.engine.settings import EngineSettings
from ktms.ports.catalogue import CatalogueStore, StoreAway
from ktms.ports.change_feed import CatalogueChanged, ChangeFeed, KeyChanged
from ktms.ports.entropy import Entropy
from ktms.ports.telemetry import Dependency, Gauge, Telemetry

JITTER = 0.2
"""Share of an interval by which it is drawn shorter or longer."""

FEED_REOPEN_S = 1.0
"""Pause before a lost feed is opened again: the key window and recovery bounds (FP8, FP11) allow it."""


class Refresher:
    """Keeps the snapshot and the verified keys of one replica fresh.

    `on_refreshed` is told of each refresh that succeeded; `store_answers`: the last one was answered.
    """

    def __init__(
        self,
        *,
        store: CatalogueStore,
        feed: ChangeFeed,
        admission: Admission,
        current: Current,
        entropy: Entropy,
        telemetry: Telemetry,
        settings: EngineSettings,
    ) -> None:
        self._store = store
        self._feed = feed
        self._admission = admission
        self._current = current
        self._entropy = entropy
        self._telemetry = telemetry
        self._settings = settings
        self.on_refreshed: Callable[[], None] = _nobody
        self.store_answers = False
        self._one_at_a_time = asyncio.Lock()  # or a slow older snapshot would replace a newer one

    async def run(self) -> None:
        """Run all loops until cancelled."""
        loops = {
            "poll-catalogue": self._poll_catalogue,
            "reverify-keys": self._reverify_keys,
            "listen": self._listen,
        }
        await run_lasting(loops, self._telemetry)

    async def refresh(self) -> bool:
        """Load the newest snapshot if it is not in force; False when the store is away or it does not compile."""
        try:
            async with self._one_at_a_time, asyncio.timeout(self._settings.lookup_s):
                version = await self._store.version()
                if version != self._current.version or self._current.saved:
                    self._current.swap(await self._store.snapshot())
                self._current.confirm()
        except (StoreAway, TimeoutError):
            self.store_answers = False
            self._telemetry.dependency_failed(Dependency.POSTGRES, "load_catalogue", "away")
            return False
        except CatalogueInvalid as error:
            self.store_answers = True
            self._telemetry.event("error", "snapshot_refused", reason=str(error))
            return False
        finally:
            self._telemetry.gauge(Gauge.SNAPSHOT_VERSION, self._current.version)
            self._telemetry.gauge(Gauge.SNAPSHOT_AGE_S, self._current.age_s)
        self.store_answers = True
        self.on_refreshed()
        return True

    async def _poll_catalogue(self) -> None:
        while True:
            await self.refresh()
            await self._pause(self._settings.refresh_poll_s)

    async def _reverify_keys(self) -> None:
        while True:
            await self._admission.reverify()
            await self._pause(self._settings.reverify_s)

    async def _listen(self) -> None:
        while True:
            try:
                async for news in self._feed.listen():
                    match news:
                        case CatalogueChanged():
                            await self.refresh()
                        case KeyChanged(key_id):
                            self._admission.forget(key_id)
            except StoreAway:
                self._telemetry.dependency_failed(Dependency.POSTGRES, "listen", "away")
            await self._pause(FEED_REOPEN_S)

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds * self._entropy.uniform(1 - JITTER, 1 + JITTER))


def _nobody() -> None:
    """Hear of a refresh and do nothing."""
