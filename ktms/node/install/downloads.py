"""Fetches a pinned file and unpacks it: nothing is opened before its SHA-256 is the one that was expected.

Rules: what has another hash is removed at once; what is unpacked gets its place whole or not at all. Not here:
which files (`pins.py`).
"""

import hashlib
import shutil
import sys
import tarfile
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError

from ktms.node.install.pins import Pin
from ktms.node.install.refused import Refused
from ktms.node.machine import Machine

STEP_BYTES = 1 << 20

SILENCE_S = 60.0
"""A server that says nothing for this long says nothing any more."""

UNPACK_S = 900.0
"""Gigabytes onto a slow disk."""

EXECUTABLE = 0o755

Shown = Callable[[int, int | None], None]
"""Takes how many bytes are here, and of how many."""


def fetch(url: str, sha256: str, to: Path, shown: Shown) -> None:
    """Fetch a file.

    Raises:
        Refused: it is not to be had, or is not the one that was expected.
    """
    to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(url, timeout=SILENCE_S) as answer, to.open("wb") as file:  # noqa: S310 - pinned
            length = answer.headers.get("Content-Length", "")
            total, done = int(length) if length.isdecimal() else None, 0
            while piece := answer.read(STEP_BYTES):
                digest.update(piece)
                file.write(piece)
                done += len(piece)
                shown(done, total)
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError):
            error.close()
        to.unlink(missing_ok=True)
        reason = getattr(error, "reason", None) or error
        raise Refused(
            f"{url} cannot be fetched: {reason}", "run this again where that address is reached"
        ) from error
    if digest.hexdigest() != sha256:
        to.unlink()
        what = f"{url} has SHA-256 {digest.hexdigest()}, not {sha256}"
        raise Refused(what, "it was not opened; somebody on the way may have changed it")


def install_program(machine: Machine, pin: Pin, folder: Path, shown: Shown) -> None:
    """Fetch a program and unpack it into its folder, in place of what is there.

    Raises:
        Refused: see `fetch`; or it cannot be unpacked.
    """
    work = folder.with_name(f".{folder.name}")
    shutil.rmtree(work, ignore_errors=True)
    inside = work / "unpacked"
    inside.mkdir(parents=True)
    try:
        archive = work / pin.url.rpartition("/")[2]
        fetch(pin.url, pin.sha256, archive, shown)
        _unpack(machine, pin, archive, inside)
        program = inside / pin.program
        if not program.is_file():
            raise Refused(f"{pin.url} has no {pin.program} in it", "this release of the installer is wrong there")
        if pin.program_sha256 is not None and _sha256(program) != pin.program_sha256:
            raise Refused(f"{pin.program} of {pin.url} is not the one that is known", "it was not run")
        program.chmod(EXECUTABLE)
        shutil.rmtree(folder, ignore_errors=True)
        inside.rename(folder)
    except OSError as error:
        raise Refused(f"{pin.name} cannot be unpacked: {error}", "is the disk full?") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _unpack(machine: Machine, pin: Pin, archive: Path, inside: Path) -> None:
    if not archive.name.endswith((".tgz", ".tar.gz", ".zst")):
        archive.rename(inside / pin.program)
        return
    if not pin.is_zstd:
        _run(machine, ("tar", "-xzf", str(archive), "-C", str(inside)))
    elif sys.version_info >= (3, 14):
        with tarfile.open(archive) as packed:
            packed.extractall(inside, filter="tar")
    else:
        plain = archive.with_suffix("")
        _run(machine, ("zstd", "-q", "-d", "--rm", "-o", str(plain), str(archive)))
        _run(machine, ("tar", "-xf", str(plain), "-C", str(inside)))
        plain.unlink()


def _run(machine: Machine, words: tuple[str, ...]) -> None:
    ran = machine.run(words, within_s=UNPACK_S)
    if ran.code != 0:
        said = (ran.err or ran.out).strip().splitlines()
        raise Refused(f"{words[0]}: {said[-1] if said else f'exit code {ran.code}'}", "is the disk full?")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
