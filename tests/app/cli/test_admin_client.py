import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest

from ktms.app.cli.admin_client import AdminClient, AdminRefused
from ktms.app.cli.failed import CommandFailed
from ktms.domain.access.actor import Role
from ktms.domain.access.secret import Secret
from tests.api.house import house_of
from tests.app.cli.terminal import Terminal


@pytest.fixture
async def old_gateway() -> AsyncIterator[str]:
    """A gRPC server that knows none of our methods."""
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(0)


async def failure(address: str, key: str) -> CommandFailed:
    def ask() -> None:
        with AdminClient(address, Secret(key), None) as admin:
            admin.version()

    with pytest.raises(CommandFailed) as failed:
        await asyncio.to_thread(ask)
    return failed.value


async def test_a_gateway_without_the_method_is_too_old(old_gateway: str) -> None:
    failed = await failure(old_gateway, "ktms_adm_x")
    assert failed.lines == (f"the gateway at {old_gateway} is too old for this command",)


async def test_what_the_gateway_says_is_passed_on_line_by_line(terminal: Terminal) -> None:
    terminal.stage.store.away = True
    failed = await failure(terminal.stage.address, terminal.stage.tokens[Role.VIEWER])
    assert isinstance(failed, AdminRefused)
    assert failed.lines == ("the database is away; nothing was changed",)


async def test_a_gateway_that_is_not_there_is_told_from_one_whose_database_is_away() -> None:
    failed = await failure("127.0.0.1:1", "ktms_adm_x")
    assert failed.lines[0].startswith("no gateway answers at 127.0.0.1:1 (")


async def test_the_port_of_the_api_is_told_from_the_admin_port() -> None:
    async with house_of() as house:
        address = f"127.0.0.1:{house.port}"
        failed = await failure(address, "ktms_adm_x")
    (line,) = failed.lines
    assert line.startswith(f"{address} speaks HTTP/1, so it is not the admin port (gRPC, 127.0.0.1:9090")


async def test_no_failure_holds_the_key(terminal: Terminal) -> None:
    failed = await failure(terminal.stage.address, "ktms_adm_canary")
    assert "canary" not in str(failed)
