"""The connections of a process, as the kernel has them."""

import os
import socket
from collections.abc import Iterator

import pytest

from chaos.stand.connections import Connections, connections_of

GONE = 2**22 - 1
"""No process has this number."""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        yield opened


def seen(listener: socket.socket) -> Connections:
    port = listener.getsockname()[1]
    return connections_of(os.getpid(), port, {port})


def test_a_connection_counts_at_both_of_its_ends(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()), listener.accept()[0]:
        assert seen(listener) == Connections(clients=1, upstream=1)


def test_a_connection_that_its_client_has_closed_counts_until_it_is_closed_here(listener: socket.socket) -> None:
    client = socket.create_connection(listener.getsockname())
    with listener.accept()[0]:
        client.close()
        assert seen(listener) == Connections(clients=1, upstream=0)


def test_who_only_listens_has_none(listener: socket.socket) -> None:
    assert seen(listener) == Connections(0, 0)


def test_a_process_that_is_gone_has_none() -> None:
    assert connections_of(GONE, 1, {1}) == Connections(0, 0)
