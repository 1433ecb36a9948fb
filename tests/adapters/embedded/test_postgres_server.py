import asyncio
import os
import stat
from pathlib import Path

import asyncpg
import pytest

from ktms.adapters.embedded.failed import EmbeddedFailed
from ktms.adapters.embedded.postgres_server import EmbeddedPostgres
from ktms.adapters.embedded.process import command_of
from ktms.adapters.embedded.tcp_port import free_port, is_free
from ktms.ports.entropy import Entropy

SECOND_START_MAX_S = 3.0


def uids_of(pid: int) -> list[str]:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]


async def ask(dsn: str, statement: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def test_a_second_start_keeps_the_data_and_takes_less_than_three_seconds(
    open_folder: Path, entropy: Entropy
) -> None:
    async with EmbeddedPostgres(open_folder, entropy=entropy) as first:
        await ask(first.dsn, "create table kept as select 7 as number")
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with EmbeddedPostgres(open_folder, entropy=entropy) as second:
        took_s = loop.time() - began
        assert await ask(second.dsn, "select number from kept") == 7
    assert took_s < SECOND_START_MAX_S


async def test_it_listens_on_loopback_only_and_demands_the_password(
    running_postgres: EmbeddedPostgres,
) -> None:
    assert await ask(running_postgres.dsn, "select current_setting('listen_addresses')") == "127.0.0.1"
    password = running_postgres.dsn.split(":")[2].split("@")[0]
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(running_postgres.dsn.replace(password, "wrong"))
    assert await ask(running_postgres.dsn, "select rolpassword from pg_authid where rolname = 'ktms'") != password


async def test_no_argument_of_it_holds_the_password(running_postgres: EmbeddedPostgres) -> None:
    password = running_postgres.dsn.split(":")[2].split("@")[0]
    assert "postgres" in command_of(running_postgres.pid)
    assert password not in command_of(running_postgres.pid)


async def test_it_never_runs_as_root(running_postgres: EmbeddedPostgres) -> None:
    assert "0" not in uids_of(running_postgres.pid)


async def test_the_password_file_is_private_and_may_lie_elsewhere(open_folder: Path, entropy: Entropy) -> None:
    kept = open_folder / "config" / "password"
    async with EmbeddedPostgres(open_folder / "data", entropy=entropy, password_file=kept, durable=False):
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        found = [path for path in (open_folder / "data").rglob("*") if path.is_file()]
        secret = kept.read_bytes()
        assert not [path for path in found if secret in path.read_bytes()]


async def test_a_missing_password_file_of_existing_data_is_told(kept_folder: Path, entropy: Entropy) -> None:
    (kept_folder / "postgres.password").unlink()
    with pytest.raises(EmbeddedFailed, match=r"postgres\.password is missing: put it back"):
        async with EmbeddedPostgres(kept_folder, entropy=entropy):
            pass


async def test_stopping_leaves_no_process_and_a_free_port(kept_folder: Path, entropy: Entropy) -> None:
    async with EmbeddedPostgres(kept_folder, entropy=entropy, durable=False) as server:
        assert command_of(server.pid)
    assert not server.running
    assert command_of(server.pid) == ""
    assert is_free(server.port)
    assert "database system is shut down" in (kept_folder / "postgres.log").read_text(encoding="utf-8")


async def test_a_taken_port_is_passed_over_for_the_next_free_one(kept_folder: Path, entropy: Entropy) -> None:
    wanted = free_port(None)
    taken = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", wanted)
    async with taken, EmbeddedPostgres(kept_folder, entropy=entropy, port=wanted, durable=False) as server:
        assert wanted < server.port < wanted + 20
        assert await ask(server.dsn, "select 1") == 1


async def test_a_second_process_on_the_same_folder_is_refused_by_name(
    running_postgres: EmbeddedPostgres, running_folder: Path, entropy: Entropy
) -> None:
    assert running_postgres.running
    with pytest.raises(EmbeddedFailed, match=rf"in use by process {os.getpid()}: stop it"):
        async with EmbeddedPostgres(running_folder, entropy=entropy):
            pass


async def test_data_of_another_major_version_is_told_in_one_line(kept_folder: Path, entropy: Entropy) -> None:
    (kept_folder / "postgres" / "PG_VERSION").write_text("15\n", encoding="ascii")
    with pytest.raises(EmbeddedFailed, match=r"holds data of Postgres 15, but this is Postgres \d+: dump") as told:
        async with EmbeddedPostgres(kept_folder, entropy=entropy):
            pass
    assert "\n" not in told.value.message


async def test_a_folder_that_cannot_be_made_is_told_in_one_line(open_folder: Path, entropy: Entropy) -> None:
    (open_folder / "file").write_text("", encoding="ascii")
    with pytest.raises(EmbeddedFailed, match="cannot be made: Not a directory"):
        async with EmbeddedPostgres(open_folder / "file" / "data", entropy=entropy):
            pass


async def test_damaged_data_is_told_with_the_servers_own_reason(kept_folder: Path, entropy: Entropy) -> None:
    (kept_folder / "postgres" / "global" / "pg_control").unlink()
    with pytest.raises(EmbeddedFailed, match=r"Postgres does not start: .*see .*postgres\.log"):
        async with EmbeddedPostgres(kept_folder, entropy=entropy):
            pass


async def test_an_interrupted_first_start_is_begun_afresh(open_folder: Path, entropy: Entropy) -> None:
    (open_folder / "postgres.new" / "base").mkdir(parents=True)
    async with EmbeddedPostgres(open_folder, entropy=entropy, durable=False) as server:
        assert await ask(server.dsn, "select 1") == 1
    assert not (open_folder / "postgres.new").exists()
