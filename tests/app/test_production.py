import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from ktms.adapters.postgres.encryption_state import KeyringMismatch
from ktms.adapters.postgres.migration_files import ledger_folder, read_migrations, shipped_folder
from ktms.app import production as module
from ktms.app.production import Production, World, production
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.keyring import Keyring
from ktms.domain.catalogue import ClientKeySpec
from ktms.domain.saved_snapshot import SavedSnapshot
from ktms.ports.catalogue import StoreAway
from ktms.ports.snapshot_file import SnapshotUnusable
from tests.app.conftest import CONNECTIONS_MAX, Log
from tests.conftest import Gate
from tests.engine.rig import CATALOGUE
from tests.saved_snapshots import saved_snapshot_of

pytestmark = pytest.mark.service

TEST = Actor("test", Role.OWNER)
MakeWorld = Callable[[str], World]


async def test_a_database_is_prepared_once(world_of: MakeWorld, bare_dsn: str) -> None:
    files = [*read_migrations(shipped_folder()), *read_migrations(ledger_folder())]
    async with production(world_of(bare_dsn)) as opened:
        assert len(await opened.prepare_database()) == len(files)
        assert await opened.prepare_database() == ()


async def test_what_the_admin_plane_stores_the_engine_reads(real: Production) -> None:
    await real.config.apply(CATALOGUE, actor=TEST, prune=False, dry_run=False)
    found = await real.ports.catalogue.snapshot()
    assert (found.version, "cloudy" in found.names) == (1, True)
    assert [key.secret.reveal() for key in found.vendors[0].keys] == ["sk-alpha-key-one", "sk-alpha-key-two"]
    key, _ = await real.keys.create(ClientKeySpec("second", "default"), actor=TEST)
    assert key.id in await real.ports.keys.find([key.id])


async def test_news_of_the_admin_plane_reach_the_engine(real: Production) -> None:
    async def first() -> object:
        async for news in real.ports.changes.listen():
            return news
        return None

    async with asyncio.TaskGroup() as group, asyncio.timeout(10):
        hearing = group.create_task(first())
        number = 0
        while not hearing.done():  # applied again and again: nobody tells when it has begun to listen
            number += 1
            await real.keys.create(ClientKeySpec(f"key-{number}", "default"), actor=TEST)
            listed = await real.keys.list()
            await real.keys.revoke(listed[-1].id, actor=TEST)
    assert hearing.result() is not None


async def test_the_metrics_page_is_that_of_its_telemetry(real: Production) -> None:
    real.telemetry.call_started()
    assert b"ktms_in_flight 1.0" in real.ports.exposition()


async def test_a_database_that_is_away_keeps_nobody_from_opening(
    world_of: MakeWorld, gated_bare_dsn: str, postgres_gate: Gate
) -> None:
    await postgres_gate.close()
    async with production(world_of(gated_bare_dsn)) as opened:
        with pytest.raises(StoreAway):
            await opened.ports.catalogue.version()


async def test_a_database_is_awaited_until_it_answers(
    world_of: MakeWorld, gated_bare_dsn: str, postgres_gate: Gate, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DATABASE_RETRY_S", 0.02)
    await postgres_gate.close()
    async with production(world_of(gated_bare_dsn)) as opened:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(opened.await_database())
            with pytest.raises(StoreAway):
                await opened.ports.catalogue.version()
            assert not waiting.done()
            await postgres_gate.open()
        assert await opened.ports.catalogue.version() == 0
    assert "database_away_at_start" in log.text
    assert '"reason":"' in log.text


async def test_another_keyring_is_refused(world_of: MakeWorld, bare_dsn: str) -> None:
    world = world_of(bare_dsn)
    async with production(world) as opened:
        await opened.prepare_database()
    other = Keyring({key_id: bytes(reversed(world.keyring.key(key_id))) for key_id in world.keyring.ids})
    async with production(World(**{**_members(world), "keyring": other})) as opened:  # type: ignore[arg-type]  # members by name
        with pytest.raises(KeyringMismatch):
            await opened.prepare_database()


async def test_what_libraries_log_is_taken_inside_the_block_alone(
    world_of: MakeWorld, bare_dsn: str, log: Log
) -> None:
    before = list(logging.getLogger().handlers)
    async with production(world_of(bare_dsn)):
        logging.getLogger("some.library").warning("it said %s", "the-secret")
    assert logging.getLogger().handlers == before
    assert '"event":"library"' in log.text
    assert "the-secret" not in log.text


async def test_nothing_of_the_address_of_the_database_is_shown(world_of: MakeWorld, bare_dsn: str) -> None:
    assert bare_dsn not in repr(world_of(bare_dsn))


def _members(world: World) -> dict[str, object]:
    return {name: getattr(world, name) for name in World.__dataclass_fields__}


async def test_a_saved_snapshot_is_bound_to_its_database_and_to_no_credential(
    world_of: MakeWorld, tmp_path: Path
) -> None:
    def world(dsn: str) -> World:
        return replace(world_of(dsn), snapshot_file=tmp_path / "snapshot")

    async def load(dsn: str) -> SavedSnapshot | None:
        async with production(world(dsn)) as opened:
            assert opened.ports.snapshot_file is not None
            return await opened.ports.snapshot_file.load()

    async with production(world("postgresql://one:old@127.0.0.1:1/ours")) as opened:
        assert opened.ports.snapshot_file is not None
        await opened.ports.snapshot_file.save(saved_snapshot_of())
    assert await load("postgresql://two:new@127.0.0.1:1/ours?sslmode=prefer") is not None
    for other in ("postgresql://one:old@127.0.0.1:1/theirs", "postgresql://one:old@127.0.0.1:2/ours"):
        with pytest.raises(SnapshotUnusable, match="of another database"):
            await load(other)


async def test_without_a_file_no_snapshot_is_saved(world_of: MakeWorld, bare_dsn: str) -> None:
    async with production(world_of(bare_dsn)) as opened:
        assert opened.ports.snapshot_file is None


OURS = "from pg_stat_activity where datname = current_database() and application_name like 'ktms%'"
EVERY_ONE = f"select count(*) {OURS}"
NEWS = f"{EVERY_ONE} and application_name = 'ktms-feed'"


async def test_fp10_the_connection_that_hears_news_is_one_of_those_allowed(
    real: Production, bare_dsn: str
) -> None:
    async def hear() -> None:
        async for _ in real.ports.changes.listen():
            pass

    watch = await asyncpg.connect(bare_dsn)
    seen: list[int] = []
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        hearing = group.create_task(hear())
        while not await watch.fetchval(NEWS):
            pass
        asking = [group.create_task(real.ports.catalogue.snapshot()) for _ in range(50)]
        while not all(task.done() for task in asking):
            seen.append(await watch.fetchval(EVERY_ONE))
        hearing.cancel()
    await watch.close()
    assert max(seen) == CONNECTIONS_MAX
