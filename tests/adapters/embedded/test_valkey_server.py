import asyncio
import os
import stat
from pathlib import Path

import pytest
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError

from ktms.adapters.embedded.failed import EmbeddedFailed
from ktms.adapters.embedded.process import command_of
from ktms.adapters.embedded.tcp_port import free_port, is_free
from ktms.adapters.embedded.valkey_server import EmbeddedValkey
from ktms.ports.entropy import Entropy


def uids_of(pid: int) -> list[str]:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]


async def test_it_answers_to_its_password_only(running_valkey: EmbeddedValkey) -> None:
    client = redis.asyncio.Redis.from_url(running_valkey.url)
    assert await client.ping()
    await client.aclose()
    stranger = redis.asyncio.Redis(port=running_valkey.port, retry=Retry(NoBackoff(), 0))
    with pytest.raises(AuthenticationError):
        await stranger.get("x")
    await stranger.aclose()


async def test_no_argument_of_it_holds_the_password(running_valkey: EmbeddedValkey) -> None:
    password = running_valkey.url.split(":")[2].split("@")[0]
    assert "valkey-server" in command_of(running_valkey.pid)
    assert password not in command_of(running_valkey.pid)


async def test_it_never_runs_as_root(running_valkey: EmbeddedValkey) -> None:
    assert "0" not in uids_of(running_valkey.pid)


async def test_nothing_is_kept_on_disk_and_the_password_stays(open_folder: Path, entropy: Entropy) -> None:
    async with EmbeddedValkey(open_folder, entropy=entropy) as first:
        client = redis.asyncio.Redis.from_url(first.url)
        await client.set("x", "1")
        await client.aclose()
    assert list((open_folder / "valkey").iterdir()) == []
    kept = open_folder / "valkey.password"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    async with EmbeddedValkey(open_folder, entropy=entropy) as second:
        client = redis.asyncio.Redis.from_url(second.url)
        assert await client.get("x") is None
        await client.aclose()
        assert kept.read_text(encoding="ascii") in second.url


async def test_stopping_leaves_no_process_and_a_free_port(open_folder: Path, entropy: Entropy) -> None:
    async with EmbeddedValkey(open_folder, entropy=entropy) as server:
        assert command_of(server.pid)
    assert not server.running
    assert command_of(server.pid) == ""
    assert is_free(server.port)


async def test_a_taken_port_is_passed_over_for_the_next_free_one(open_folder: Path, entropy: Entropy) -> None:
    wanted = free_port(None)
    taken = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", wanted)
    async with taken, EmbeddedValkey(open_folder, entropy=entropy, port=wanted) as server:
        assert wanted < server.port < wanted + 20


async def test_a_second_process_on_the_same_folder_is_refused_by_name(
    running_valkey: EmbeddedValkey, open_folder: Path, entropy: Entropy
) -> None:
    assert running_valkey.running
    with pytest.raises(EmbeddedFailed, match=rf"in use by process {os.getpid()}"):
        async with EmbeddedValkey(open_folder, entropy=entropy):
            pass


async def test_it_makes_room_among_what_ends_by_itself(open_folder: Path, entropy: Entropy) -> None:
    async with EmbeddedValkey(open_folder, entropy=entropy) as server:
        client = redis.asyncio.Redis.from_url(server.url)
        told = await client.info("memory")
        await client.aclose()
    assert (told["maxmemory"], told["maxmemory_policy"]) == (512 * 1024 * 1024, "volatile-ttl")
