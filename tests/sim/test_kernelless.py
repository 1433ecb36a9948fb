"""What a kernel would give: threads, signals, names, connections."""

import asyncio
import signal
import socket
from collections.abc import Iterator

import pytest

from tests.sim.network.lab import A, Lab


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab()
    yield made
    made.loop.close()


def test_a_function_for_a_thread_runs_in_the_loop(lab: Lab) -> None:
    async def work() -> int:
        return await lab.loop.run_in_executor(None, pow, 2, 10)

    assert lab.run(A, work()) == 1024


def test_an_error_of_such_a_function_reaches_who_waits_for_it(lab: Lab) -> None:
    async def work() -> object:
        return await asyncio.to_thread(int, "x")

    with pytest.raises(ValueError, match="invalid literal"):
        lab.run(A, work())


def test_signal_handlers_are_taken_and_forgotten(lab: Lab) -> None:
    lab.loop.add_signal_handler(signal.SIGTERM, lambda: None)
    assert lab.loop.remove_signal_handler(signal.SIGTERM) is False


def test_a_name_leads_to_its_one_address(lab: Lab) -> None:
    found = lab.run(A, lab.loop.getaddrinfo("b", 80, type=socket.SOCK_STREAM))
    assert [entry[4] for entry in found] == [("10.0.0.2", 80)]


def test_an_unknown_name_is_an_error_of_the_resolver(lab: Lab) -> None:
    with pytest.raises(socket.gaierror):
        lab.run(A, lab.loop.getaddrinfo("nobody", 80))


def test_tls_is_refused_in_words(lab: Lab) -> None:
    with pytest.raises(ValueError, match="TLS"):
        lab.run(A, lab.loop.create_connection(asyncio.Protocol, "b", 443, ssl=True))


def test_a_ready_made_socket_is_refused_in_words(lab: Lab) -> None:
    with pytest.raises(ValueError, match="no sockets"):
        lab.run(A, lab.loop.create_server(asyncio.Protocol, sock=object()))
