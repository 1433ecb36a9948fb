import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.domain.catalogue import Catalogue, ChainSpec, PolicySpec
from ktms.domain.errors import CallFailed
from ktms.domain.placement import Placement
from ktms.domain.snapshot import Snapshot
from ktms.engine.refresh import FEED_REOPEN_S, JITTER, Refresher
from ktms.ports.catalogue import CatalogueStore, StoreAway
from ktms.ports.change_feed import ChangeFeed, KeyChanged, News
from ktms.ports.telemetry import Dependency, Gauge
from tests.engine.rig import CATALOGUE, KEY, TEST, Rig, key_id, policy, snapshot
from tests.engine.virtual_loop import after, settle


def refresher(rig: Rig, store: CatalogueStore | None = None, feed: ChangeFeed | None = None) -> Refresher:
    return Refresher(
        store=store or rig.catalogue_store,
        feed=feed or rig.feed,
        admission=rig.admission,
        current=rig.current,
        entropy=rig.entropy,
        telemetry=rig.telemetry,
        settings=rig.settings,
    )


async def apply(rig: Rig, catalogue: Catalogue) -> None:
    await rig.config.apply(catalogue, actor=TEST, prune=False, dry_run=False)


def spoil(rig: Rig) -> None:
    """Store what does not compile, past all checks."""
    chain = ChainSpec("broken", {"low": ("no-such-model",)}, "low")
    rig.store.catalogue = replace(rig.store.catalogue, chains=(chain,))
    rig.store.version += 1


@dataclass
class SlowStore:
    """Implements `CatalogueStore`; the first snapshot it gives takes its time."""

    store: MemoryCatalogueStore
    door: asyncio.Event
    loads: int = 0

    async def version(self) -> int:
        return await self.store.version()

    async def snapshot(self) -> Snapshot:
        found = await self.store.snapshot()
        self.loads += 1
        if self.loads == 1:
            await self.door.wait()
        return found


async def test_a_newer_version_is_put_in_force(rig: Rig) -> None:
    await apply(rig, policy(placement=Placement.CLOUD_ONLY))
    assert await refresher(rig).refresh()
    assert rig.current.snapshot is not None
    assert (rig.current.version, rig.current.snapshot.policy.placement) == (2, Placement.CLOUD_ONLY)
    assert rig.telemetry.gauges[Gauge.SNAPSHOT_VERSION, ""] == 2


async def test_the_version_in_force_is_confirmed_not_loaded_again(rig: Rig) -> None:
    before = rig.current.snapshot
    await after(30)
    assert await refresher(rig).refresh()
    assert rig.current.snapshot is before
    assert rig.current.age_s == 0


async def test_what_does_not_compile_never_replaces_what_does(rig: Rig) -> None:
    before = rig.current.snapshot
    spoil(rig)
    await after(30)
    assert not await refresher(rig).refresh()
    assert rig.current.snapshot is before
    (event,) = rig.telemetry.events
    assert (event.level, event.name) == ("error", "snapshot_refused")
    assert "no-such-model" in str(event.facts["reason"])
    assert rig.telemetry.gauges[Gauge.SNAPSHOT_AGE_S, ""] == 30


async def test_a_good_version_after_a_bad_one_is_taken(rig: Rig) -> None:
    spoil(rig)
    await refresher(rig).refresh()
    rig.store.catalogue = replace(rig.store.catalogue, chains=())
    rig.store.version += 1
    assert await refresher(rig).refresh()
    assert rig.current.version == 3


async def test_a_store_that_is_away_leaves_everything_as_it_is(rig: Rig) -> None:
    rig.store.away = True
    before = rig.current.snapshot
    await after(10)
    assert not await refresher(rig).refresh()
    assert (rig.current.snapshot, rig.current.age_s) == (before, 10)
    assert rig.telemetry.failures == [(Dependency.POSTGRES, "load_catalogue", "away")]


async def test_a_store_that_hangs_is_given_up_in_time(rig: Rig) -> None:
    await apply(rig, policy(attempts_max=1))
    slow = SlowStore(rig.catalogue_store, asyncio.Event())
    began_at = rig.clock.monotonic()
    assert not await refresher(rig, slow).refresh()
    assert rig.clock.monotonic() - began_at == pytest.approx(rig.settings.lookup_s)
    assert rig.current.version == 1


async def test_a_slow_older_snapshot_does_not_replace_a_newer_one(rig: Rig) -> None:
    slow = SlowStore(rig.catalogue_store, asyncio.Event())
    refreshing = refresher(rig, slow)
    await apply(rig, policy(attempts_max=1))
    async with asyncio.TaskGroup() as group:
        group.create_task(refreshing.refresh())
        await settle()
        await apply(rig, policy(attempts_max=2))
        group.create_task(refreshing.refresh())
        await settle()
        slow.door.set()
    assert rig.current.version == 3


@asynccontextmanager
async def running(rig: Rig, feed: ChangeFeed | None = None) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(refresher(rig, feed=feed).run())
        await settle()
        yield
        task.cancel()


async def test_news_of_a_catalogue_are_followed_at_once(rig: Rig) -> None:
    async with running(rig):
        await apply(rig, policy(attempts_max=1))
        await settle()
        assert rig.current.version == 2


async def test_news_of_a_key_are_followed_at_once(rig: Rig) -> None:
    async with running(rig):
        await rig.admission.admit(KEY)
        rig.store.keys[0].revoked = True
        rig.store.tell(KeyChanged(key_id()))
        await settle()
        with pytest.raises(CallFailed):
            await rig.admission.admit(KEY)


async def test_a_catalogue_whose_news_were_lost_is_found_by_asking(rig: Rig) -> None:
    async with running(rig):
        rig.store.catalogue = replace(rig.store.catalogue, policy=PolicySpec(attempts_max=1))
        rig.store.version += 1
        await after(rig.settings.refresh_poll_s * (1 + JITTER) + 0.1)
        assert rig.current.version == 2


async def test_a_revoked_key_whose_news_were_lost_is_found_by_asking(rig: Rig) -> None:
    async with running(rig):
        await rig.admission.admit(KEY)
        rig.store.keys[0].revoked = True
        await after(10)
        with pytest.raises(CallFailed):
            await rig.admission.admit(KEY)


async def test_a_lost_feed_is_opened_again(rig: Rig) -> None:
    async with running(rig):
        rig.store.cut_feeds()
        await after(FEED_REOPEN_S * (1 + JITTER) + 0.1)
        await apply(rig, policy(attempts_max=1))
        await settle()
        assert rig.current.version == 2


async def test_a_feed_that_cannot_be_opened_is_tried_until_it_can(rig: Rig) -> None:
    rig.store.away = True
    async with running(rig):
        await after(20)
        assert (Dependency.POSTGRES, "listen", "away") in rig.telemetry.failures
        rig.store.away = False
        await after(2)
        await apply(rig, policy(attempts_max=1))
        await settle()
        assert rig.current.version == 2


async def test_a_store_that_is_back_is_followed_within_one_round(rig: Rig) -> None:
    rig.store.away = True
    async with running(rig):
        await after(60)
        rig.store.version += 1
        rig.store.away = False
        await after(rig.settings.refresh_poll_s * (1 + JITTER) + 0.1)
        assert rig.current.version == 2
        assert rig.admission.store_answers


async def test_rounds_of_two_replicas_do_not_stay_in_step(rig: Rig) -> None:
    asked: list[float] = []

    class Noting:
        async def version(self) -> int:
            asked.append(rig.clock.monotonic())
            return 1

        async def snapshot(self) -> Snapshot:
            return snapshot()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(refresher(rig, Noting()).run())
        await after(100)
        task.cancel()
    pauses = [later - earlier for earlier, later in itertools.pairwise(asked)]
    assert len({round(pause, 6) for pause in pauses}) > 10
    assert all(4 <= pause <= 6 for pause in pauses)


async def test_an_end_of_the_gateway_ends_all_rounds(rig: Rig) -> None:
    async with running(rig):
        assert len(asyncio.all_tasks()) > 1
    assert len(asyncio.all_tasks()) == 1


async def test_a_feed_that_is_lost_at_once_every_time_is_no_busy_loop(rig: Rig) -> None:
    opened = 0

    class Losing:
        async def listen(self) -> AsyncIterator[News]:
            nonlocal opened
            opened += 1
            if opened % 2:
                raise StoreAway
            nothing: tuple[News, ...] = ()
            for news in nothing:
                yield news

    async with running(rig, Losing()):
        await after(20)
    assert 15 <= opened <= 26


def test_the_catalogue_of_these_tests_compiles() -> None:
    assert snapshot(CATALOGUE).version == 1


async def test_each_refresh_that_succeeds_is_told(rig: Rig) -> None:
    refreshing, told = refresher(rig), [0]
    refreshing.on_refreshed = lambda: told.append(1)
    await refreshing.refresh()
    rig.store.away = True
    await refreshing.refresh()
    assert (sum(told), refreshing.store_answers) == (1, False)


async def test_a_catalogue_that_does_not_compile_is_an_answer(rig: Rig) -> None:
    refreshing = refresher(rig)
    spoil(rig)
    assert not await refreshing.refresh()
    assert refreshing.store_answers


async def test_a_saved_snapshot_is_replaced_by_the_stored_one_of_the_same_version(rig: Rig) -> None:
    saved = snapshot(version=1)
    rig.current.restore(saved, rig.clock.monotonic() - 60)
    assert await refresher(rig).refresh()
    assert rig.current.version == 1
    assert rig.current.snapshot is not saved
    assert (rig.current.saved, rig.current.age_s) == (False, 0)
