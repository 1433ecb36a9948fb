import asyncio
from collections.abc import AsyncIterator

import pytest

from chaos.proxy.toxiproxy_client import Toxic, ToxiproxyClient, ToxiproxyFailed
from chaos.services.free_port import free_port
from chaos.services.local import Local
from chaos.services.local_toxiproxy import LocalToxiproxy
from chaos.services.service import Address

NOWHERE = Address("127.0.0.1", 1)
SLOW = Toxic("latency", "downstream", {"latency": 5, "jitter": 1})


@pytest.fixture
def client(toxiproxy: LocalToxiproxy) -> ToxiproxyClient:
    return ToxiproxyClient(toxiproxy.address)


@pytest.fixture
async def made(client: ToxiproxyClient) -> str:
    await client.make("it", f"127.0.0.1:{free_port()}", NOWHERE)
    return "it"


async def answering(status: str, body: str) -> AsyncIterator[Address]:
    """Run a server that says the same to everybody."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield Address("127.0.0.1", server.sockets[0].getsockname()[1])


@pytest.fixture
async def failing() -> AsyncIterator[Address]:
    async for address in answering("500 Internal Server Error", "it hurts"):
        yield address


@pytest.fixture
async def foreign() -> AsyncIterator[Address]:
    async for address in answering("200 OK", "<html>"):
        yield address


async def test_what_was_set_is_read_back(client: ToxiproxyClient, made: str) -> None:
    await client.settle(made, enabled=True, toxics=[SLOW])
    seen = await client.look(made)
    assert (seen.enabled, seen.toxics) == (True, {"latency_downstream": {"latency": 5, "jitter": 1}})


async def test_an_attribute_that_the_server_does_not_know_is_found_out(client: ToxiproxyClient, made: str) -> None:
    with pytest.raises(ToxiproxyFailed, match="it is not as it was set"):
        await client.settle(made, enabled=True, toxics=[Toxic("latency", "upstream", {"lateness": 5})])


async def test_a_toxic_that_the_server_does_not_know_is_refused(client: ToxiproxyClient, made: str) -> None:
    with pytest.raises(ToxiproxyFailed, match="refuses to harm it"):
        await client.settle(made, enabled=True, toxics=[Toxic("poison", "upstream", {})])


async def test_a_name_is_given_once(client: ToxiproxyClient, made: str) -> None:
    with pytest.raises(ToxiproxyFailed, match="refuses to make it"):
        await client.make(made, f"127.0.0.1:{free_port()}", NOWHERE)


async def test_a_proxy_that_is_not_there_is_an_error(client: ToxiproxyClient) -> None:
    for act in (client.look, client.remove):
        with pytest.raises(ToxiproxyFailed, match="not found"):
            await act("gone")


async def test_a_port_that_is_taken_is_an_error(client: ToxiproxyClient, echo: Address) -> None:
    with pytest.raises(ToxiproxyFailed, match="address already in use"):
        await client.make("it", str(echo), NOWHERE)


async def test_a_server_that_fails_is_not_taken_for_a_success(failing: Address) -> None:
    with pytest.raises(ToxiproxyFailed, match="fails to remove it: 500 it hurts"):
        await ToxiproxyClient(failing).remove("it")


async def test_a_server_of_another_kind_is_found_out(foreign: Address) -> None:
    for act in (ToxiproxyClient(foreign).names(), ToxiproxyClient(foreign).look("it")):
        with pytest.raises(ToxiproxyFailed, match="answers what is no"):
            await act


async def test_a_server_that_says_nothing_costs_a_deadline(silent_port: int) -> None:
    async with asyncio.timeout(5):
        with pytest.raises(ToxiproxyFailed, match="does not answer to list proxies"):
            await ToxiproxyClient(Address("127.0.0.1", silent_port), timeout_s=0.2).names()


async def test_two_servers_in_one_process_are_kept_apart(client: ToxiproxyClient, made: str) -> None:
    async with Local().toxiproxy() as second:
        assert await ToxiproxyClient(second.address).names() == set()
    assert await client.names() == {made}


async def test_a_detour_of_the_environment_is_not_taken(
    client: ToxiproxyClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert await client.names() == set()
