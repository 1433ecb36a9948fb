"""The saved snapshot in a file, sealed with the keyring: who has the file alone has nothing.

Rules: sealed under the preferred key of the keyring, so after a rotation the next refresh has it under the new
one; bound to its database, so one of another installation does not open; replaced whole, mode 0600. Disks hang:
the work is done by a thread of its own that never keeps the process from ending, one piece at a time.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from ktms.adapters.files.private_file import PrivateFileUnusable, replace_private
from ktms.adapters.files.snapshot_form import FormUnknown, decode_snapshot, encode_snapshot
from ktms.domain.saved_snapshot import SavedSnapshot
from ktms.ports.secrets import DecryptFailed, Place, Secrets
from ktms.ports.snapshot_file import SnapshotUnusable

SNAPSHOT_BYTES_MAX = 64 * 1024 * 1024
"""A catalogue of 10,000 nodes and 20,000 verified keys are under 20 MB; a larger file is the wrong file."""

BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")
"""Where Linux names the start of the machine, for all containers on it alike."""

LEFT_BEHIND_S = 60.0
"""A half written file older than this belongs to nobody: in a rolling restart two processes write for a while."""

T = TypeVar("T")


class EncryptedSnapshotFile:
    """Implements the `SnapshotFile` port. `database` says whose snapshot it is, without any credential.

    `secrets` must take envelopes of SNAPSHOT_BYTES_MAX.
    """

    def __init__(self, path: Path, secrets: Secrets, database: str, boot: str) -> None:
        self._path = path
        self._secrets = secrets
        self._place = Place("snapshot_file", "snapshot", "", database)
        self._boot = boot
        self._busy = threading.Lock()  # a write that hung must not meet the next one

    async def save(self, snapshot: SavedSnapshot) -> None:
        """Put this in the place of what is there.

        Raises:
            SnapshotUnusable: it was not saved; what was there is still there.
        """
        await self._beside(partial(self._write, snapshot))

    async def load(self) -> SavedSnapshot | None:
        """Give what was saved last; None where there is no file.

        Raises:
            SnapshotUnusable: damaged, sealed under another key, written by another release, or not readable.
        """
        return await self._beside(self._read)

    def _write(self, snapshot: SavedSnapshot) -> None:
        plain = encode_snapshot(snapshot, self._boot)
        if len(plain) > SNAPSHOT_BYTES_MAX // 2:
            raise SnapshotUnusable(f"it has more than {SNAPSHOT_BYTES_MAX // 2} bytes")
        sealed = self._secrets.seal(plain, self._place, self._secrets.key_ids()[0])
        try:
            replace_private(self._path, sealed)
        except PrivateFileUnusable as error:
            raise SnapshotUnusable(str(error)) from error
        with suppress(OSError):
            self._tidy()

    def _tidy(self) -> None:
        """Remove what processes left behind that were killed while they wrote."""
        written_at = self._path.stat().st_mtime
        for beside in self._path.parent.iterdir():
            if beside.name.startswith(f".{self._path.name}.") and (
                written_at - beside.stat().st_mtime > LEFT_BEHIND_S
            ):
                beside.unlink()

    def _read(self) -> SavedSnapshot | None:
        try:
            with self._path.open("rb") as file:
                sealed = file.read(SNAPSHOT_BYTES_MAX + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SnapshotUnusable(f"cannot read {self._path}: {error.strerror or 'not readable'}") from error
        try:
            return decode_snapshot(self._secrets.open(sealed, self._place), self._boot)
        except DecryptFailed as error:
            raise SnapshotUnusable(
                f"{self._path} does not open: it is damaged, of another database, or sealed under a key that is "
                f"not in the keyring ({', '.join(self._secrets.key_ids())})"
            ) from error
        except FormUnknown as error:
            raise SnapshotUnusable(f"{self._path} was written by another release") from error

    async def _beside(self, work: Callable[[], T]) -> T:
        """Do it in a thread that nobody waits for at the end of the process."""
        if not self._busy.acquire(blocking=False):
            raise SnapshotUnusable(f"{self._path}: the disk is still busy with the last one")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            try:
                outcome = partial(_succeed, done, work())
            except Exception as error:  # noqa: BLE001 - whoever waits gets it
                outcome = partial(_fail, done, error)
            finally:
                self._busy.release()
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(outcome)

        threading.Thread(target=run, name="ktms-snapshot-file", daemon=True).start()
        return await done


def boot_id() -> str:
    """Name this start of the machine; empty where the system does not tell."""
    try:
        return BOOT_ID_FILE.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _succeed(done: "asyncio.Future[T]", value: T) -> None:
    if not done.done():
        done.set_result(value)


def _fail(done: "asyncio.Future[T]", error: Exception) -> None:
    if not done.done():
        done.set_exception(error)
