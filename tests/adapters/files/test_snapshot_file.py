import asyncio
import base64
import os
import stat
import threading
from pathlib import Path

import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.files.snapshot_file import LEFT_BEHIND_S, SNAPSHOT_BYTES_MAX, EncryptedSnapshotFile, boot_id
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.domain.access.keyring import parse_keyring
from ktms.domain.saved_snapshot import SavedSnapshot
from ktms.ports.secrets import Place
from ktms.ports.snapshot_file import SnapshotUnusable
from tests.saved_snapshots import saved_snapshot_of, verified_key


def keys(*names: str) -> KeyringSecrets:
    """Hold the keys of these names; one name is always one key."""
    texts = (
        f"{name}:{base64.urlsafe_b64encode(SeededEntropy(name).token_bytes(32)).decode().rstrip('=')}"
        for name in names
    )
    return KeyringSecrets(
        parse_keyring(",".join(texts)), SeededEntropy("seal"), sealed_bytes_max=SNAPSHOT_BYTES_MAX
    )


def file_at(path: Path, *names: str, database: str = "db:5432/ktms", boot: str = "boot") -> EncryptedSnapshotFile:
    return EncryptedSnapshotFile(path, keys(*names or ("new",)), database, boot)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "snapshot"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def content(path: Path) -> bytes:
    return path.read_bytes()


def in_folder(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def put(path: Path, data: bytes, *, older_s: float = 0.0) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(data)
    written_at = path.stat().st_mtime - older_s
    os.utime(path, (written_at, written_at))


async def refusal(file: EncryptedSnapshotFile) -> str:
    with pytest.raises(SnapshotUnusable) as unusable:
        await file.load()
    return str(unusable.value)


async def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    await file_at(path).save(saved_snapshot_of())
    assert mode(path) == 0o600
    assert mode(path.parent) == 0o700


async def test_no_secret_and_no_name_can_be_read_in_it(path: Path) -> None:
    await file_at(path).save(saved_snapshot_of(keys=(verified_key(1),)))
    sealed = content(path)
    assert not any(word in sealed for word in (b"sk-alpha", b"alpha", b"cloudy", b"key-1", bytes(24)))


async def test_it_is_sealed_under_the_preferred_key(path: Path) -> None:
    await file_at(path, "new", "old").save(saved_snapshot_of())
    assert await file_at(path, "new").load() == saved_snapshot_of()


async def test_after_a_rotation_the_old_file_opens_and_the_next_one_needs_the_old_key_no_more(path: Path) -> None:
    await file_at(path, "old").save(saved_snapshot_of())
    rotated = file_at(path, "new", "old")
    assert await rotated.load() == saved_snapshot_of()
    await rotated.save(saved_snapshot_of(version=2))
    assert await file_at(path, "new").load() == saved_snapshot_of(version=2)


async def test_a_file_under_a_key_that_is_not_here_is_refused_with_the_keys_that_are(path: Path) -> None:
    await file_at(path, "old").save(saved_snapshot_of())
    assert "a key that is not in the keyring (new)" in await refusal(file_at(path, "new"))


async def test_a_file_of_another_database_does_not_open(path: Path) -> None:
    await file_at(path, database="db:5432/other").save(saved_snapshot_of())
    assert "of another database" in await refusal(file_at(path))


async def test_a_file_with_any_byte_flipped_does_not_open(path: Path) -> None:
    await file_at(path).save(saved_snapshot_of())
    sound = content(path)
    for at in (0, 1, 2, 5, 20, 40, 70, 100, len(sound) // 2, len(sound) - 1):
        put(path, sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        assert "damaged" in await refusal(file_at(path))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
async def test_a_file_cut_short_does_not_open(path: Path, share: float) -> None:
    await file_at(path).save(saved_snapshot_of())
    sound = content(path)
    put(path, sound[: int(len(sound) * share)])
    assert "damaged" in await refusal(file_at(path))


async def test_a_sealed_file_of_another_form_is_of_another_release(path: Path) -> None:
    put(path, keys("new").seal(b"?", Place("snapshot_file", "snapshot", "", "db:5432/ktms"), "new"))
    assert "another release" in await refusal(file_at(path))


async def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert "cannot read" in await refusal(file_at(tmp_path))


async def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SnapshotUnusable, match="cannot write"):
        await file_at(tmp_path / "file" / "snapshot").save(saved_snapshot_of())


async def test_a_saving_that_fails_leaves_the_last_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_at(path)
    await file.save(saved_snapshot_of())
    with monkeypatch.context() as patched:
        patched.setattr("ktms.adapters.files.snapshot_file.SNAPSHOT_BYTES_MAX", 100)
        with pytest.raises(SnapshotUnusable, match="more than 50 bytes"):
            await file.save(saved_snapshot_of(version=2))
    assert await file.load() == saved_snapshot_of()


async def test_what_a_killed_process_left_half_written_goes_when_it_is_old(path: Path) -> None:
    file = file_at(path)
    await file.save(saved_snapshot_of())
    old, young = path.with_name(f".{path.name}.old"), path.with_name(f".{path.name}.young")
    put(old, b"half", older_s=2 * LEFT_BEHIND_S)
    put(young, b"half")
    await file.save(saved_snapshot_of())
    assert in_folder(path.parent) == [young, path]


class HungDisk(EncryptedSnapshotFile):
    """A disk that answers when it is told to."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, keys("new"), "db", "boot")
        self.goes_on = threading.Event()

    def _write(self, snapshot: SavedSnapshot) -> None:
        self.goes_on.wait()
        super()._write(snapshot)


async def test_while_the_disk_hangs_the_loop_goes_on_and_no_second_write_begins(path: Path) -> None:
    file = HungDisk(path)
    async with asyncio.TaskGroup() as group:
        group.create_task(file.save(saved_snapshot_of()))
        await asyncio.sleep(0)
        with pytest.raises(SnapshotUnusable, match="still busy"):
            await file.save(saved_snapshot_of(version=2))
        file.goes_on.set()
    assert await file.load() == saved_snapshot_of()


async def test_a_saving_nobody_waits_for_any_more_is_still_whole(path: Path) -> None:
    file = HungDisk(path)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await file.save(saved_snapshot_of())
    file.goes_on.set()
    async with asyncio.timeout(10):
        while True:
            try:
                assert await file.load() == saved_snapshot_of()
            except SnapshotUnusable:
                await asyncio.sleep(0)  # the thread has not let go yet
            else:
                break


def test_this_start_of_the_machine_has_one_name() -> None:
    assert boot_id() == boot_id()


def test_where_the_system_names_no_start_it_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ktms.adapters.files.snapshot_file.BOOT_ID_FILE", tmp_path / "none")
    assert boot_id() == ""
