"""Listening sockets whose owner takes connections, with production's own port as the owner."""

import asyncio
import socket

import pytest

from ktms.api.port import PAUSE_S, Port, open_port
from sim.loop import Standstill
from sim.network.accept_queue import listen_in_world
from tests.sim.network.lab import PORT, A, B, Lab, Recorder


def opened(lab: Lab, at: str = "b") -> tuple[Port, list[Recorder]]:
    made: list[Recorder] = []

    def factory() -> Recorder:
        made.append(Recorder())
        return made[-1]

    port = lab.run(B, open_port(factory, at, PORT, listen=listen_in_world, backlog=10, reuse_port=False))
    return port, made


def exhausted(lab: Lab) -> list[str]:
    lacked: list[str] = []
    lab.network.lacked = lambda host, what: lacked.append(f"{host} {what}")
    lab.network.exhaust(B)
    return lacked


def test_a_connection_is_taken_by_the_owner(lab: Lab) -> None:
    port, made = opened(lab)
    lab.dial()
    lab.pass_s(0.1)
    assert (port.number, len(made)) == (PORT, 1)


def test_what_a_client_sent_before_it_was_taken_is_read(lab: Lab) -> None:
    _, made = opened(lab)
    exhausted(lab)
    caller = lab.dial()
    caller.transport.write(b"early")
    lab.pass_s(1.0)
    assert made == []
    lab.network.relieve("b")
    lab.pass_s(1.0)
    assert made[0].data == b"early"


def test_fg8_an_owner_without_descriptors_looks_ten_times_a_second(lab: Lab) -> None:
    opened(lab)
    lacked = exhausted(lab)
    lab.dial()
    lab.pass_s(5.0)
    assert set(lacked) == {"b accept"}
    assert 5.0 / PAUSE_S - 2 <= len(lacked) <= 5.0 / PAUSE_S + 2


def test_an_owner_that_neither_takes_nor_stops_looking_stands_still(lab: Lab) -> None:
    async def look_for_ever() -> None:
        listening = listen_in_world(socket.AF_INET, ("b", PORT), 1, reuse_port=False)
        asyncio.get_running_loop().add_reader(listening, lambda: None)

    lab.run(B, look_for_ever())
    lab.dial()
    with pytest.raises(Standstill):
        lab.pass_s(1.0)


def test_without_descriptors_nothing_is_dialled_and_no_name_is_known(lab: Lab) -> None:
    lab.listen(on=A)
    lacked = exhausted(lab)
    for work in (lab.loop.create_connection(Recorder, "a", PORT), lab.loop.getaddrinfo("a", PORT)):
        with pytest.raises(OSError, match="Too many open files"):
            lab.run(B, work)
    assert lacked == ["b connect", "b resolve"]


def test_a_new_process_has_descriptors_of_its_own(lab: Lab) -> None:
    lab.listen(on=A)
    exhausted(lab)
    lab.run("b#2", lab.loop.create_connection(Recorder, "a", PORT))


def test_who_waits_when_a_port_closes_is_reset(lab: Lab) -> None:
    port, _ = opened(lab)
    exhausted(lab)
    caller = lab.dial()
    lab.pass_s(0.5)
    port.close()
    lab.pass_s(0.5)
    assert isinstance(caller.error, ConnectionResetError)


def test_who_has_gone_before_it_was_taken_disturbs_nobody(lab: Lab) -> None:
    _, made = opened(lab)
    exhausted(lab)
    caller = lab.dial()
    lab.network.reset(caller.transport)
    lab.pass_s(0.5)
    lab.network.relieve("b")
    lab.pass_s(0.5)
    assert made == []
    lab.dial()
    lab.pass_s(0.5)
    assert len(made) == 1


def test_a_port_of_an_owner_is_open_once_per_host(lab: Lab) -> None:
    opened(lab)
    with pytest.raises(OSError, match="already in use"):
        opened(lab)


def test_nobody_waits_at_an_empty_queue(lab: Lab) -> None:
    async def accept() -> None:
        listen_in_world(socket.AF_INET, ("b", PORT), 1, reuse_port=False).accept()

    with pytest.raises(BlockingIOError):
        lab.run(B, accept())
