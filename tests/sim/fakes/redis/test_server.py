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


def test_who_subscribed_is_told_what_others_publish() -> None:
    server = SimRedis(now=lambda: 0.0)
    listener, heard = connected(server)
    other, _ = connected(server)
    listener.data_received(request(b"SUBSCRIBE", b"news"))
    heard.written = b""
    other.data_received(request(b"PUBLISH", b"news", b"a") + request(b"PUBLISH", b"other", b"b"))
    assert heard.written == b"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\na\r\n"


def test_a_subscriber_that_does_not_read_is_cut_off() -> None:
    server = SimRedis(now=lambda: 0.0)
    listener, heard = connected(server)
    listener.data_received(request(b"SUBSCRIBE", b"news"))
    listener.pause_writing()
    other, _ = connected(server)
    other.data_received(request(b"PUBLISH", b"news", b"a"))
    assert (heard.aborted, server.connections) == (True, 1)


def test_a_subscriber_in_version_three_is_pushed_to() -> None:
    server = SimRedis(now=lambda: 0.0)
    listener, heard = connected(server)
    listener.data_received(request(b"HELLO", b"3") + request(b"SUBSCRIBE", b"news"))
    heard.written = b""
    listener.data_received(request(b"PUBLISH", b"news", b"a"))
    assert heard.written == b":0\r\n>3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\na\r\n"


def test_a_subscriber_may_ask_for_a_sign_of_life_and_nothing_else() -> None:
    connection, paper = connected(SimRedis(now=lambda: 0.0))
    connection.data_received(request(b"SUBSCRIBE", b"news"))
    paper.written = b""
    connection.data_received(request(b"PING") + request(b"GET", b"key"))
    assert paper.written.startswith(b"*2\r\n$4\r\npong\r\n$0\r\n\r\n-ERR Can't execute 'get'")


def test_a_replica_that_takes_over_has_not_heard_the_last_writes() -> None:
    server = SimRedis(now=lambda: 0.0)
    connection, paper = connected(server)
    connection.data_received(request(b"SET", b"early", b"1"))
    replica = server.state.data.copy()
    connection.data_received(request(b"SET", b"late", b"1") + request(b"SET", b"early", b"2"))
    server.take_over(replica)
    assert paper.aborted
    connection, paper = connected(server)
    connection.data_received(request(b"GET", b"early") + request(b"GET", b"late"))
    assert paper.written == b"$1\r\n1\r\n$-1\r\n"


@pytest.mark.parametrize(("fault", "how"), [("redis_away", "refused"), ("redis_hung", "unanswered")])
def test_who_comes_in_vain_is_told_once(fault: str, how: str) -> None:
    server = SimRedis()
    came: list[str] = []
    server.met = lambda _, word: came.append(word)
    server.mode(fault, on=True)
    connection, _ = connected(server)
    for _ in range(2):
        connection.data_received(request(b"PING"))
    assert came == [how]


def test_a_connection_from_before_that_asks_in_vain_is_told_apart() -> None:
    server = SimRedis()
    came: list[str] = []
    server.met = lambda _, word: came.append(word)
    connection, _ = connected(server)
    server.mode("redis_hung", on=True)
    connection.data_received(request(b"PING"))
    assert came == ["kept"]
