"""Contract of `ktms/ports/change_feed.py`: one suite for every implementation."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import cast

import pytest

from ktms.domain.access.actor import Actor
from ktms.domain.catalogue import Catalogue, ClientKeySpec, PolicySpec
from ktms.ports.catalogue import StoreAway
from ktms.ports.change_feed import CatalogueChanged, ChangeFeed, KeyChanged, News
from ktms.ports.config_store import ConfigStore
from ktms.ports.key_admin import KeyAdmin

Act = Callable[[], Awaitable[None]]
NEWS_WITHIN_S = 5.0


class Heard:
    """What a listener hears, beginning with the moment it can hear."""

    def __init__(self, admin: KeyAdmin, actor: Actor) -> None:
        self.news: asyncio.Queue[News | None] = asyncio.Queue()
        self._admin = admin
        self._actor = actor

    async def collect(self, feed: ChangeFeed) -> None:
        async with aclosing(cast("AsyncGenerator[News]", feed.listen())) as news:
            async for one in news:
                self.news.put_nowait(one)
        self.news.put_nowait(None)

    async def next(self) -> News | None:
        async with asyncio.timeout(NEWS_WITHIN_S):
            return await self.news.get()

    async def begun(self) -> None:
        """Revoke fresh keys until one is heard of: a feed says nothing about when it began."""
        for number in range(100):
            key, _ = await self._admin.create(ClientKeySpec(f"probe-{number}", "default"), actor=self._actor)
            await self._admin.revoke(key.id, actor=self._actor)
            try:
                async with asyncio.timeout(0.1):
                    while await self.news.get() != KeyChanged(key.id):
                        pass
            except TimeoutError:
                continue
            return
        raise AssertionError("the feed never began")


@asynccontextmanager
async def hearing(feed: ChangeFeed, admin: KeyAdmin, actor: Actor) -> AsyncIterator[Heard]:
    heard = Heard(admin, actor)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(heard.collect(feed))
        await heard.begun()
        yield heard
        task.cancel()


async def test_an_apply_is_heard_of(feed: ChangeFeed, config: ConfigStore, admin: KeyAdmin, actor: Actor) -> None:
    async with hearing(feed, admin, actor) as heard:
        await config.apply(Catalogue(policy=PolicySpec(band=2)), actor=actor, prune=False, dry_run=False)
        assert await heard.next() == CatalogueChanged()


async def test_a_revoked_key_is_heard_of_by_its_id(feed: ChangeFeed, admin: KeyAdmin, actor: Actor) -> None:
    key, _ = await admin.create(ClientKeySpec("app", "default"), actor=actor)
    async with hearing(feed, admin, actor) as heard:
        await admin.revoke(key.id, actor=actor)
        assert await heard.next() == KeyChanged(key.id)


async def test_a_key_changed_by_an_apply_is_heard_of(
    feed: ChangeFeed, config: ConfigStore, admin: KeyAdmin, actor: Actor
) -> None:
    key, _ = await admin.create(ClientKeySpec("app", "default"), actor=actor)
    changed = Catalogue(client_keys=(ClientKeySpec("app", "default", interactive=True),))
    async with hearing(feed, admin, actor) as heard:
        await config.apply(changed, actor=actor, prune=False, dry_run=False)
        assert {await heard.next(), await heard.next()} == {KeyChanged(key.id), CatalogueChanged()}


async def test_what_changes_nothing_is_not_news(
    feed: ChangeFeed, config: ConfigStore, admin: KeyAdmin, actor: Actor
) -> None:
    key, _ = await admin.create(ClientKeySpec("app", "default"), actor=actor)
    async with hearing(feed, admin, actor) as heard:
        await config.apply(Catalogue(), actor=actor, prune=False, dry_run=False)
        await config.apply(Catalogue(policy=PolicySpec(band=2)), actor=actor, prune=False, dry_run=True)
        await admin.revoke(key.id, actor=actor)
        assert await heard.next() == KeyChanged(key.id)


async def test_a_lost_connection_ends_the_feed_without_an_error(
    feed: ChangeFeed, admin: KeyAdmin, actor: Actor, cut_feeds: Act
) -> None:
    async with hearing(feed, admin, actor) as heard:
        await cut_feeds()
        assert await heard.next() is None


async def test_two_listeners_hear_the_same(feed: ChangeFeed, admin: KeyAdmin, actor: Actor) -> None:
    async with hearing(feed, admin, actor) as first, hearing(feed, admin, actor) as second:
        key, _ = await admin.create(ClientKeySpec("app", "default"), actor=actor)
        await admin.revoke(key.id, actor=actor)
        assert await second.next() == KeyChanged(key.id)
        heard = [await first.next()]
        while heard[-1] != KeyChanged(key.id):
            heard.append(await first.next())


async def test_a_feed_that_cannot_be_opened_says_so(feed: ChangeFeed, take_away: Act) -> None:
    await take_away()
    with pytest.raises(StoreAway):
        await anext(feed.listen())
