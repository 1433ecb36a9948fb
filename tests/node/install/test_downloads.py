"""Files are opened only when they are the ones that were expected."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ktms.node.install.downloads import fetch, install_program
from ktms.node.install.pins import CLOUDFLARED, OLLAMA, Pin
from ktms.node.install.refused import Refused
from ktms.node.this_machine import ThisMachine
from tests.node.install.files import packed, served

SCRIPT = b"#!/bin/sh\necho here\n"


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def nobody(done: int, total: int | None) -> None:
    pass


def install(url: str, body: bytes, folder: Path, program: str = "tool", inner: str | None = None) -> None:
    pin = Pin("tool", "1", url, sha256(body), program, 1, inner)
    install_program(ThisMachine(), pin, folder, nobody)


def test_a_file_is_fetched_and_its_size_shown(tmp_path: Path) -> None:
    shown: list[tuple[int, int | None]] = []
    with served({"/a": b"x" * 3_000_000}) as url:
        fetch(f"{url}/a", sha256(b"x" * 3_000_000), tmp_path / "a", lambda *one: shown.append(one))
    assert (tmp_path / "a").stat().st_size == 3_000_000
    assert shown[-1] == (3_000_000, 3_000_000)


def test_a_file_with_another_hash_is_removed_unopened(tmp_path: Path) -> None:
    with served({"/a": b"other"}) as url, pytest.raises(Refused, match="has SHA-256"):
        fetch(f"{url}/a", sha256(b"expected"), tmp_path / "a", nobody)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_there_is_refused_in_one_line(tmp_path: Path) -> None:
    with served({}) as url, pytest.raises(Refused, match="cannot be fetched") as refused:
        fetch(f"{url}/a", "00", tmp_path / "a", nobody)
    assert "\n" not in str(refused.value)


def test_a_program_by_itself_gets_its_name(tmp_path: Path) -> None:
    with served({"/tool-linux-amd64": SCRIPT}) as url:
        install(f"{url}/tool-linux-amd64", SCRIPT, tmp_path / "tool")
    assert ThisMachine().run((str(tmp_path / "tool" / "tool"),)).out == "here\n"


def test_an_archive_is_unpacked(tmp_path: Path) -> None:
    body = packed(bin__tool=SCRIPT, lib__part=b"x")
    with served({"/tool.tgz": body}) as url:
        install(f"{url}/tool.tgz", body, tmp_path / "tool", "bin/tool", sha256(SCRIPT))
    assert os.access(tmp_path / "tool" / "bin" / "tool", os.X_OK)


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the command zstd is not here")
def test_an_archive_of_zstd_is_unpacked(tmp_path: Path) -> None:
    plain = tmp_path / "tool.tar"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").write_bytes(SCRIPT)
    subprocess.run(["tar", "-C", tmp_path, "-cf", plain, "bin"], check=True)
    body = subprocess.run(["zstd", "-q", "-c", plain], check=True, capture_output=True).stdout
    with served({"/tool.tar.zst": body}) as url:
        install(f"{url}/tool.tar.zst", body, tmp_path / "programs" / "tool", "bin/tool")
    assert (tmp_path / "programs" / "tool" / "bin" / "tool").read_bytes() == SCRIPT
    assert [path.name for path in (tmp_path / "programs").iterdir()] == ["tool"]


def test_a_program_that_is_not_the_known_one_is_refused(tmp_path: Path) -> None:
    body = packed(tool=SCRIPT)
    with served({"/tool.tgz": body}) as url, pytest.raises(Refused, match="not the one that is known"):
        install(f"{url}/tool.tgz", body, tmp_path / "tool", "tool", sha256(b"other"))
    assert list(tmp_path.iterdir()) == []


def test_an_archive_without_the_program_is_refused(tmp_path: Path) -> None:
    body = packed(other=SCRIPT)
    with served({"/tool.tgz": body}) as url, pytest.raises(Refused, match="has no tool in it"):
        install(f"{url}/tool.tgz", body, tmp_path / "tool")


def test_what_is_here_stays_where_the_new_one_cannot_be_had(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "tool").write_bytes(b"old")
    with served({}) as url, pytest.raises(Refused):
        install(f"{url}/tool", SCRIPT, tmp_path / "tool")
    assert (tmp_path / "tool" / "tool").read_bytes() == b"old"


def test_what_is_here_is_replaced_whole(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "left-over").write_bytes(b"old")
    with served({"/tool": SCRIPT}) as url:
        install(f"{url}/tool", SCRIPT, tmp_path / "tool")
    assert [path.name for path in (tmp_path / "tool").iterdir()] == ["tool"]


@pytest.mark.parametrize(
    "pin", [*OLLAMA.values(), *CLOUDFLARED.values()], ids=lambda pin: pin.url.rpartition("/")[2]
)
def test_every_pin_has_a_hash_and_a_version_in_its_address(pin: Pin) -> None:
    assert len(pin.sha256) == 64
    assert set(pin.sha256) <= set("0123456789abcdef")
    assert pin.version in pin.url
    assert pin.url.startswith("https://")
