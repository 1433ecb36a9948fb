import pytest

from sim.fakes.redis.server import HELD_MAX_BYTES, SimRedis
from tests.sim.fakes.redis.paper import connected, request

PONG = b"+PONG\r\n"


@pytest.mark.parametrize("fault", [None, "redis_hung", "redis_away"])
def test_a_fault_decides_what_a_ping_gets(fault: str | None) -> None:
    server = SimRedis()
    if fault is not None:
        server.mode(fault, on=True)
    connection, paper = connected(server)
    connection.data_received(request(b"PING"))
    assert (paper.written == PONG, paper.aborted) == (fault is None, fault == "redis_away")


def test_requests_sent_ahead_are_answered_in_their_order() -> None:
    connection, paper = connected(SimRedis())
    connection.data_received(request(b"PING", b"a") + request(b"PING", b"b"))
    assert paper.written == b"$1\r\na\r\n$1\r\nb\r\n"


def test_a_hung_server_answers_all_it_was_sent_when_it_goes_on() -> None:
    server = SimRedis()
    connection, paper = connected(server)
    server.mode("redis_hung", on=True)
    connection.data_received(request(b"PING"))
    connection.data_received(request(b"PING"))
    server.mode("redis_hung", on=False)
    assert paper.written == PONG * 2


def test_a_hung_server_takes_no_more_than_a_kernel_would() -> None:
    server = SimRedis()
    connection, paper = connected(server)
    server.mode("redis_hung", on=True)
    connection.data_received(request(b"PING", b"x" * HELD_MAX_BYTES))
    stopped = not paper.reading
    server.mode("redis_hung", on=False)
    assert (stopped, paper.reading) == (True, True)


def test_a_server_that_goes_away_breaks_its_connections() -> None:
    server = SimRedis()
    _, paper = connected(server)
    server.mode("redis_away", on=True)
    assert (paper.aborted, server.connections) == (True, 0)


def test_a_client_that_does_not_read_is_answered_no_more_until_it_does() -> None:
    connection, paper = connected(SimRedis())
    connection.pause_writing()
    connection.data_received(request(b"PING"))
    before = paper.written
    connection.resume_writing()
    assert (before, paper.written) == (b"", PONG)


def test_a_long_request_is_read_to_its_end() -> None:
    connection, paper = connected(SimRedis())
    data = request(b"SET", b"key", b"x" * (2 * HELD_MAX_BYTES))
    for at in range(0, len(data), 1000):
        connection.data_received(data[at : at + 1000])
    assert (paper.written, paper.reading) == (b"+OK\r\n", True)


def test_broken_framing_is_told_and_ends_the_connection() -> None:
    connection, paper = connected(SimRedis())
    connection.data_received(request(b"PING") + b"*1\r\n+PING\r\n")
    assert paper.written.startswith(PONG + b"-ERR Protocol error")
    assert paper.is_closing()


def test_nothing_is_answered_after_the_connection_was_quit() -> None:
    connection, paper = connected(SimRedis())
    connection.data_received(request(b"QUIT") + request(b"PING"))
    assert paper.written == b"+OK\r\n"
    assert paper.is_closing()


def test_a_restart_without_persistence_loses_keys_and_connections() -> None:
    server = SimRedis(now=lambda: 0.0)
    connection, _ = connected(server)
    connection.data_received(request(b"SET", b"key", b"1"))
    server.restart_empty()
    connection, paper = connected(server)
    connection.data_received(request(b"GET", b"key"))
    assert (paper.written, server.connections) == (b"$-1\r\n", 1)


def test_open_connections_are_counted() -> None:
    server = SimRedis()
    connection, _ = connected(server)
    connected(server)
    connection.connection_lost(None)
    assert server.connections == 1
