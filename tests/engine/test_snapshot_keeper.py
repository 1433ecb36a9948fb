import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.key_admin import MemoryKeyAdmin
from ktms.adapters.memory.snapshot_file import MemorySnapshotFile
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.domain.catalogue import ChainSpec
from ktms.domain.errors import CallFailed, ErrorCode
from ktms.domain.saved_snapshot import SavedSnapshot
from ktms.engine.admit import Admission
from ktms.engine.current import Current
from ktms.engine.settings import EngineSettings
from ktms.engine.snapshot_keeper import DISK_S, UNUSABLE, KeeperMeans, SnapshotKeeper
from ktms.ports.key_store import KeyStore
from ktms.ports.snapshot_file import SnapshotFile
from ktms.ports.telemetry import Count, Gauge
from tests.engine.doubles import WatchedKeys
from tests.engine.rig import KEY, TEST, Rig, key_id, rig_of
from tests.engine.virtual_loop import after, settle

SETTINGS = EngineSettings()


class HungFile:
    """Implements `SnapshotFile` on a disk that never answers."""

    async def save(self, snapshot: SavedSnapshot) -> None:  # noqa: ARG002 - it looks at none
        await asyncio.Event().wait()

    async def load(self) -> SavedSnapshot | None:
        await asyncio.Event().wait()
        return None


@dataclass
class Life:
    """One process as far as the file goes: what it has in force, who it lets in, and what it says."""

    file: SnapshotFile | None
    clock: LoopClock
    keys: KeyStore
    current: Current
    telemetry: MemoryTelemetry = field(default_factory=MemoryTelemetry)

    def __post_init__(self) -> None:
        self.admission = Admission(self.keys, self.clock, self.telemetry, SETTINGS)
        self.keeper = SnapshotKeeper(
            KeeperMeans(self.file, self.admission, self.current, self.clock, self.telemetry, SETTINGS.key_window_s)
        )

    @property
    def said(self) -> list[tuple[str, str, str]]:
        return [(event.level, event.name, str(event.facts.get("reason"))) for event in self.telemetry.events]

    @property
    def savings(self) -> dict[str, int]:
        return {label: amount for (count, label), amount in self.telemetry.labelled.items() if count is SAVES}

    async def refusal(self, token: str = KEY) -> str:
        with pytest.raises(CallFailed) as refused:
            await self.admission.admit(token)
        return refused.value.problem.code


SAVES = Count.SNAPSHOT_SAVES


class House:
    """A machine with one file, its database, and the lives of the processes on it."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.file = MemorySnapshotFile()
        self.clock = LoopClock()
        self.keys = WatchedKeys(rig.store)

    def life(self, file: SnapshotFile | None = None) -> Life:
        """Start a process that has nothing in force."""
        return Life(file or self.file, self.clock, self.keys, Current(None, self.clock))

    async def running(self, file: SnapshotFile | None = None) -> Life:
        """Start a process with the database, and let the key be used once."""
        life = self.life(file)
        life.current.swap(await self.rig.catalogue_store.snapshot())
        await life.admission.admit(KEY)
        return life

    async def saved(self) -> None:
        """Let a process save, and the database be lost."""
        await (await self.running()).keeper.save()
        self.rig.store.away = True

    async def restored(self) -> Life:
        """Start a process without a database, with what was saved."""
        life = self.life()
        await life.keeper.restore()
        return life


@pytest.fixture
async def house() -> House:
    return House(await rig_of())


@asynccontextmanager
async def at_work(keeper: SnapshotKeeper) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(keeper.run())
        yield
        task.cancel()


async def test_it_saves_after_each_refresh(house: House) -> None:
    life = await house.running()
    async with at_work(life.keeper):
        for number in (1, 2):
            life.keeper.refreshed()
            await settle()
            assert life.savings == {"saved": number}
    assert house.file.saved is not None
    assert [one.key.id for one in house.file.saved.keys] == [key_id()]


async def test_without_a_refresh_nothing_is_saved(house: House) -> None:
    life = await house.running()
    async with at_work(life.keeper):
        await after(60)
    assert house.file.saved is None


async def test_the_moment_of_the_last_saving_is_told(house: House) -> None:
    life = await house.running()
    await life.keeper.save()
    assert life.telemetry.gauges[Gauge.SNAPSHOT_SAVED_AT, ""] == house.clock.wall()


async def test_without_a_file_nothing_happens(house: House) -> None:
    life = await house.running()
    life.keeper = SnapshotKeeper(
        KeeperMeans(None, life.admission, life.current, life.clock, life.telemetry, SETTINGS.key_window_s)
    )
    await life.keeper.save()
    await life.keeper.restore()
    assert (life.savings, life.said, life.keeper.started_alone) == ({}, [], False)


async def test_before_anything_is_in_force_nothing_is_saved(house: House) -> None:
    life = house.life()
    await life.admission.admit(KEY)
    await life.keeper.save()
    assert house.file.saved is None


async def test_before_the_database_answered_about_keys_nothing_is_saved(house: House) -> None:
    life = house.life()
    life.current.swap(await house.rig.catalogue_store.snapshot())
    await life.keeper.save()
    assert house.file.saved is None


async def test_a_disk_that_fails_is_said_once_and_counted_each_time(house: House) -> None:
    life = await house.running()
    house.file.broken = "no room"
    for _ in range(3):
        await life.keeper.save()
    assert life.said == [("warning", "snapshot_not_saved", "no room")]
    assert life.savings == {"failed": 3}


async def test_a_disk_that_fails_again_is_said_again(house: House) -> None:
    life = await house.running()
    for broken in ("no room", None, "no room"):
        house.file.broken = broken
        await life.keeper.save()
    assert len(life.said) == 2


async def test_a_disk_that_hangs_ends_a_saving_in_time(house: House) -> None:
    life = await house.running(HungFile())
    began_at = house.clock.monotonic()
    await life.keeper.save()
    assert house.clock.monotonic() - began_at == pytest.approx(DISK_S)
    assert life.said == [("warning", "snapshot_not_saved", "the disk does not answer")]


async def test_a_start_without_a_database_serves_what_was_saved(house: House) -> None:
    await house.saved()
    await after(20)
    life = await house.restored()
    assert (await life.admission.admit(KEY)).name == "app"
    assert (life.current.version, life.current.saved, life.keeper.started_alone) == (1, True, True)
    assert life.admission.window_open()


async def test_such_a_start_is_one_line(house: House) -> None:
    await house.saved()
    await after(20)
    (event,) = (await house.restored()).telemetry.events
    assert (event.level, event.name) == ("warning", "started_from_saved_snapshot")
    assert event.facts == {"version": 1, "keys": 1, "age_s": 20}


async def test_its_age_goes_on_from_the_last_confirmation(house: House) -> None:
    await house.saved()
    await after(20)
    life = await house.restored()
    assert life.current.age_s == 20
    assert life.telemetry.gauges[Gauge.SNAPSHOT_AGE_S, ""] == 20


async def test_a_saved_key_counts_until_its_window_ends(house: House) -> None:
    await house.saved()
    await after(100)
    life = await house.restored()
    await after(199)
    assert (await life.admission.admit(KEY)).name == "app"
    await after(1)
    assert await life.refusal() == ErrorCode.AUTH_UNAVAILABLE
    assert not life.admission.window_open()


async def test_a_key_that_was_not_saved_cannot_be_told(house: House) -> None:
    _, other = await MemoryKeyAdmin(house.rig.store, house.rig.entropy).create(
        replace(house.rig.catalogue.client_keys[0], name="other", secret=None), actor=TEST
    )
    await house.saved()
    assert await (await house.restored()).refusal(other) == ErrorCode.AUTH_UNAVAILABLE


async def test_a_revoked_key_that_was_saved_as_such_is_refused_as_invalid(house: House) -> None:
    life = await house.running()
    assert await MemoryKeyAdmin(house.rig.store, house.rig.entropy).revoke(key_id(), actor=TEST)
    await after(5)
    await life.admission.reverify()
    await life.keeper.save()
    house.rig.store.away = True
    assert await (await house.restored()).refusal() == ErrorCode.INVALID_API_KEY


async def test_many_starts_in_one_outage_lengthen_nothing(house: House) -> None:
    await house.saved()
    for _ in range(4):
        await after(55)
        await (await house.restored()).keeper.save()
    await after(55)
    life = await house.restored()
    await after(25)
    assert await life.refusal() == ErrorCode.AUTH_UNAVAILABLE
    await (last := house.life()).keeper.restore()
    assert last.current.version == 0


async def test_what_is_too_old_is_one_line_and_nothing_is_served(house: House) -> None:
    await house.saved()
    await after(300)
    life = await house.restored()
    ((level, name, reason),) = life.said
    assert (level, name) == ("warning", UNUSABLE)
    assert "longer ago than keys count" in reason
    assert (life.current.version, life.keeper.started_alone) == (0, False)


async def test_a_wall_clock_set_back_by_hours_serves_nothing(house: House) -> None:
    await house.saved()
    house.clock.jump_wall(-7200)
    assert (await house.restored()).current.version == 0


async def test_a_wall_clock_set_back_a_little_lengthens_nothing(house: House) -> None:
    await after(1)
    life = await house.running()
    await after(100)
    await life.admission.reverify()
    await life.keeper.save()
    house.rig.store.away = True
    await after(250)
    house.clock.jump_wall(-249)
    again = await house.restored()
    await after(50)
    assert await again.refusal() == ErrorCode.AUTH_UNAVAILABLE


@pytest.mark.parametrize("broken", ["it is damaged", "cannot read it"])
async def test_a_file_that_is_unusable_is_one_line(house: House, broken: str) -> None:
    await house.saved()
    house.file.broken = broken
    life = await house.restored()
    assert life.said == [("warning", UNUSABLE, broken)]
    assert life.current.version == 0


async def test_where_none_was_saved_yet_that_is_said(house: House) -> None:
    assert (await house.restored()).said == [("warning", UNUSABLE, "none was saved yet")]


async def test_a_disk_that_hangs_holds_a_start_up_no_longer_than_its_bound(house: House) -> None:
    life = house.life(HungFile())
    began_at = house.clock.monotonic()
    await life.keeper.restore()
    assert house.clock.monotonic() - began_at == pytest.approx(DISK_S)
    assert life.said == [("warning", UNUSABLE, "the disk does not answer")]


async def test_a_saved_catalogue_that_does_not_compile_is_one_line(house: House) -> None:
    await house.saved()
    assert house.file.saved is not None
    chain = ChainSpec("broken", {"low": ("no-such-model",)}, "low")
    house.file.saved = replace(house.file.saved, catalogue=replace(house.file.saved.catalogue, chains=(chain,)))
    life = await house.restored()
    assert [name for _, name, _ in life.said] == [UNUSABLE]
    assert life.current.version == 0
