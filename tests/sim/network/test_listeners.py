"""Open ports as `loop.create_server` gives them."""

import asyncio

import pytest

from tests.sim.network.lab import PORT, A, B, Lab, Recorder


def test_a_port_tells_its_address(lab: Lab) -> None:
    listener, _ = lab.listen()
    assert listener.sockets[0].getsockname() == ("10.0.0.2", PORT)
    assert (listener.is_serving(), listener.get_loop()) == (True, lab.loop)


def test_port_0_asks_for_a_free_one(lab: Lab) -> None:
    async def ports() -> set[int]:
        made = [await lab.loop.create_server(Recorder, None, 0) for _ in range(5)]
        return {server.sockets[0].getsockname()[1] for server in made}  # type: ignore[attr-defined]  # the declared type has none

    found = lab.run(B, ports())
    assert len(found) == 5
    assert 0 not in found


def test_a_port_is_open_once_per_host(lab: Lab) -> None:
    lab.listen()
    with pytest.raises(OSError, match="already in use"):
        lab.listen()
    lab.listen(on=A)


def test_a_closed_port_can_be_opened_again(lab: Lab) -> None:
    listener, _ = lab.listen()
    listener.close()
    lab.listen()
    assert (listener.sockets, listener.is_serving()) == ((), False)


def test_an_address_of_another_host_cannot_be_listened_on(lab: Lab) -> None:
    with pytest.raises(OSError, match="cannot assign"):
        lab.run(B, lab.loop.create_server(Recorder, "10.0.0.1", PORT))


def test_serving_for_ever_ends_with_the_task_and_closes_the_port(lab: Lab) -> None:
    listener, _ = lab.listen()

    async def serve() -> None:
        async with asyncio.timeout(5):
            await listener.serve_forever()

    with pytest.raises(TimeoutError):
        lab.run(B, serve())
    assert not listener.is_serving()
