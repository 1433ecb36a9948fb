import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import redis.asyncio

from chaos.proxy.proxy import Proxies, Proxy
from chaos.proxy.toxiproxy_client import ToxiproxyClient, ToxiproxyFailed
from chaos.services.local_toxiproxy import LocalToxiproxy
from chaos.services.service import Address, Redis

FELT_S = 0.3
"""Beyond what an answer of this machine takes."""


@pytest.fixture
async def proxy(proxies: Proxies, echo: Address) -> Proxy:
    return await proxies.proxy("echo", echo)


class Line:
    """One connection through the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def say(self, words: bytes) -> None:
        self.writer.write(words)

    async def ask(self, words: bytes) -> bytes:
        """Say it and wait for all of it to come back, or for the end."""
        self.say(words)
        try:
            return await self.reader.readexactly(len(words))
        except asyncio.IncompleteReadError as cut:
            return cut.partial


@asynccontextmanager
async def line(proxy: Proxy) -> AsyncIterator[Line]:
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection(proxy.listens.host, proxy.listens.port)
        try:
            yield Line(reader, writer)
        finally:
            writer.transport.abort()


async def seconds_for(asking: Line, words: bytes) -> float:
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await asking.ask(words) == words
    return loop.time() - began


async def test_a_proxy_passes_on_what_is_said(proxy: Proxy) -> None:
    async with line(proxy) as open_line:
        assert await open_line.ask(b"hello") == b"hello"


async def test_a_proxy_that_is_down_refuses_and_closes_what_was_open(proxy: Proxy) -> None:
    async with line(proxy) as open_line:
        await open_line.ask(b"hello")
        await proxy.down()
        assert await open_line.reader.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(proxy.listens.host, proxy.listens.port)


async def test_a_healed_proxy_listens_where_it_did(proxy: Proxy) -> None:
    await proxy.down()
    await proxy.heal()
    async with line(proxy) as open_line:
        assert await open_line.ask(b"hello") == b"hello"


async def test_a_hang_that_heals_closes_nothing_and_loses_nothing(proxy: Proxy) -> None:
    async with line(proxy) as open_line:
        await open_line.ask(b"hello")
        await proxy.hang()
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(open_line.ask(b"still there?"))
            done, _ = await asyncio.wait([asking], timeout=FELT_S)
            assert not done
            await proxy.heal()
        assert asking.result() == b"still there?"


async def test_a_hanging_proxy_takes_new_connections_and_serves_them_when_healed(proxy: Proxy) -> None:
    await proxy.hang()
    async with line(proxy) as open_line:
        open_line.say(b"anybody?")
        reading = asyncio.ensure_future(open_line.reader.read(100))  # noqa: TID251  # a reader left waiting
        done, _ = await asyncio.wait([reading], timeout=FELT_S)
        assert not done
        await proxy.heal()
        assert await reading == b"anybody?"


async def say(through: redis.asyncio.Redis) -> object:
    return await through.set("said", "yes")


async def test_a_mute_proxy_passes_on_what_is_said_and_its_answers_when_healed(
    proxies: Proxies, valkey: Redis
) -> None:
    mute = await proxies.proxy("mute", valkey.address)
    through, past = (redis.asyncio.Redis.from_url(url) for url in (valkey.url(through=mute.listens), valkey.url()))
    await through.ping()
    await mute.mute()
    async with asyncio.TaskGroup() as group:
        saying = group.create_task(say(through))
        async with asyncio.timeout(20):
            while await past.get("said") is None:  # each look is a round trip
                pass
        assert not saying.done()
        await mute.heal()
    assert saying.result()
    await through.aclose()
    await past.aclose()


async def test_a_slow_proxy_delays_every_answer(proxy: Proxy) -> None:
    async with line(proxy) as open_line:
        assert await seconds_for(open_line, b"hello") < FELT_S
        await proxy.slow(400)
        assert await seconds_for(open_line, b"hello") >= 0.4


async def test_a_cut_closes_what_is_open_and_takes_what_comes(proxy: Proxy) -> None:
    async with line(proxy) as before:
        await before.ask(b"hello")
        await proxy.cut()
        assert await before.reader.read() == b""
        async with line(proxy) as after:
            assert await after.ask(b"hello") == b"hello"


async def test_a_thin_proxy_takes_its_time_for_much(proxy: Proxy) -> None:
    async with line(proxy) as open_line:
        assert await seconds_for(open_line, bytes(5000)) < FELT_S
        await proxy.thin(10)
        assert await seconds_for(open_line, bytes(5000)) >= 0.5


async def test_a_slicing_proxy_hands_on_everything_in_small_pieces(proxy: Proxy) -> None:
    async with line(proxy) as open_line:
        await proxy.sliced(16, delay_us=20_000)
        open_line.say(bytes(200))
        first = await open_line.reader.read(1000)
        rest = await open_line.reader.readexactly(200 - len(first))
        assert (0 < len(first) < 100, len(first + rest)) == (True, 200)


async def test_a_limit_ends_an_answer_in_the_middle(proxy: Proxy) -> None:
    await proxy.limit_data(5)
    async with line(proxy) as open_line:
        assert await open_line.ask(b"hello world") == b"hello"


async def test_a_new_connection_is_reset_with_its_first_word(proxy: Proxy) -> None:
    await proxy.reset_peer()
    async with line(proxy) as speaking:
        with pytest.raises(ConnectionResetError):
            await speaking.ask(b"hello")


async def test_of_the_connections_before_a_reset_those_that_speak_are_closed(proxy: Proxy) -> None:
    async with line(proxy) as silent, line(proxy) as speaking:
        await silent.ask(b"hello")
        await speaking.ask(b"hello")
        await proxy.reset_peer()
        assert await speaking.ask(b"hello") == b""
        await proxy.heal()
        assert await silent.ask(b"hello") == b"hello"


async def test_a_new_fault_takes_the_place_of_the_old_one(proxy: Proxy) -> None:
    await proxy.hang()
    await proxy.slow(1)
    async with line(proxy) as open_line:
        assert await seconds_for(open_line, b"hello") < FELT_S


async def test_the_same_fault_with_another_figure_replaces_itself(proxy: Proxy) -> None:
    await proxy.slow(5000)
    await proxy.slow(1)
    async with line(proxy) as open_line:
        assert await seconds_for(open_line, b"hello") < FELT_S


async def test_healing_what_is_well_changes_nothing(proxy: Proxy) -> None:
    async with line(proxy) as open_line:
        await open_line.ask(b"hello")
        await proxy.heal()
        assert await open_line.ask(b"hello") == b"hello"


async def number_of(client: redis.asyncio.Redis) -> int:
    """Ask for the number of the connection, which a new one would not have."""
    return int(await client.client_id())


async def test_a_real_redis_client_survives_a_hang_on_its_connection(proxies: Proxies, valkey: Redis) -> None:
    proxy = await proxies.proxy("redis", valkey.address)
    client = redis.asyncio.Redis.from_url(valkey.url(through=proxy.listens))
    number = await number_of(client)
    await proxy.hang()
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(number_of(client))
        done, _ = await asyncio.wait([asking], timeout=FELT_S)
        assert not done
        await proxy.heal()
    assert asking.result() == number
    await client.aclose()


async def test_all_proxies_of_a_run_are_gone_after_it(toxiproxy: LocalToxiproxy, echo: Address) -> None:
    async with Proxies(toxiproxy) as proxies:
        await (await proxies.proxy("one", echo)).down()
        await (await proxies.proxy("two", echo)).hang()
    assert await ToxiproxyClient(toxiproxy.address).names() == set()


async def test_runs_that_share_a_server_leave_each_other_alone(
    toxiproxy: LocalToxiproxy, proxy: Proxy, echo: Address
) -> None:
    async with Proxies(toxiproxy) as others:
        await (await others.proxy("echo", echo)).down()
    async with line(proxy) as open_line:
        assert await open_line.ask(b"hello") == b"hello"


async def test_an_error_of_the_run_is_not_hidden_by_a_server_that_hangs(
    toxiproxy: LocalToxiproxy, echo: Address
) -> None:
    async def run() -> None:
        async with Proxies(toxiproxy, timeout_s=0.2) as proxies:
            await proxies.proxy("echo", echo)
            await toxiproxy.freeze()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await run()


async def test_a_server_that_hangs_costs_a_deadline_and_an_error_by_name(
    toxiproxy: LocalToxiproxy, echo: Address
) -> None:
    loop = asyncio.get_running_loop()
    async with Proxies(toxiproxy, timeout_s=0.2) as proxies:
        proxy = await proxies.proxy("echo", echo)
        await toxiproxy.freeze()
        began = loop.time()
        with pytest.raises(ToxiproxyFailed, match="does not answer"):
            await proxy.hang()
        assert loop.time() - began < 1.5
        await toxiproxy.thaw()
        await proxy.heal()


async def test_a_server_that_is_not_there_is_said_at_once() -> None:
    class Absent:
        name = "absent"
        address = Address("127.0.0.1", 1)

    with pytest.raises(ToxiproxyFailed, match=r"127\.0\.0\.1:1 does not answer"):
        async with Proxies(Absent()):
            pass
