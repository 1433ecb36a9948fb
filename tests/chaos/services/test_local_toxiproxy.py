import asyncio

from chaos.services.answers import toxiproxy_answers
from chaos.services.local import Local
from chaos.services.local_toxiproxy import LocalToxiproxy


async def test_it_answers_while_its_context_is_open(toxiproxy: LocalToxiproxy) -> None:
    async with Local().toxiproxy() as second:
        assert second.address != toxiproxy.address
        assert await toxiproxy_answers(second.address)
    assert not await toxiproxy_answers(second.address)
    assert await toxiproxy_answers(toxiproxy.address)


async def test_a_frozen_one_takes_connections_and_says_nothing(toxiproxy: LocalToxiproxy) -> None:
    await toxiproxy.freeze()
    _, writer = await asyncio.open_connection(toxiproxy.address.host, toxiproxy.address.port)
    assert not await toxiproxy_answers(toxiproxy.address)
    await toxiproxy.thaw()
    assert await toxiproxy_answers(toxiproxy.address)
    writer.close()
    await writer.wait_closed()
