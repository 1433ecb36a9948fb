"""Contract of `ktms/ports/snapshot_file.py`: one suite for disk, memory and a simulated world's."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.files.snapshot_file import SNAPSHOT_BYTES_MAX, EncryptedSnapshotFile
from ktms.adapters.memory.snapshot_file import MemorySnapshotFile
from ktms.domain.access.keyring import Keyring
from ktms.ports.entropy import Entropy
from ktms.ports.snapshot_file import SnapshotFile, SnapshotUnusable
from sim.fakes.snapshot_file import JournalSnapshotFile
from sim.journal.journal import Journal
from tests.saved_snapshots import saved_snapshot_of, verified_key

Make = Callable[[], SnapshotFile]
"""Gives the file as the next process has it; what was saved by an earlier one is there."""


@pytest.fixture(params=["memory", "files", "sim"])
def make(request: pytest.FixtureRequest, tmp_path: Path, keyring: Keyring, entropy: Entropy) -> Make:
    memory, journal = MemorySnapshotFile(), Journal(lambda: 0.0)
    secrets = KeyringSecrets(keyring, entropy, sealed_bytes_max=SNAPSHOT_BYTES_MAX)
    makers: dict[str, Make] = {
        "memory": lambda: memory,
        "files": lambda: EncryptedSnapshotFile(tmp_path / "snapshot", secrets, "db", "boot"),
        "sim": lambda: JournalSnapshotFile("gw1", journal, memory),
    }
    return makers[request.param]


async def test_where_nothing_was_saved_there_is_none(make: Make) -> None:
    assert await make().load() is None


async def test_what_was_saved_is_there_for_the_next_process(make: Make) -> None:
    kept = saved_snapshot_of(keys=(verified_key(1), verified_key(2, revoked=True)))
    await make().save(kept)
    assert await make().load() == kept


async def test_the_last_one_saved_is_the_one_there_is(make: Make) -> None:
    file = make()
    await file.save(saved_snapshot_of(keys=(verified_key(1),)))
    await file.save(saved_snapshot_of(version=2))
    assert await file.load() == saved_snapshot_of(version=2)


async def test_loading_takes_nothing_away(make: Make) -> None:
    file = make()
    await file.save(saved_snapshot_of())
    assert await file.load() == await file.load() == saved_snapshot_of()


async def test_a_file_in_memory_that_is_told_to_be_broken_gives_and_takes_nothing() -> None:
    file = MemorySnapshotFile()
    file.broken = "no room"
    with pytest.raises(SnapshotUnusable, match="no room"):
        await file.save(saved_snapshot_of())
    with pytest.raises(SnapshotUnusable, match="no room"):
        await file.load()


async def test_a_machine_in_memory_that_is_started_anew_has_another_monotonic_clock() -> None:
    file = MemorySnapshotFile()
    file.restart_machine()
    await file.save(saved_snapshot_of())
    file.restart_machine()
    assert file.saved is not None
    assert file.saved.saved_at.monotonic is None
