import socket

from chaos.services.free_port import PORT_MAX, PORT_MIN, free_port, is_free


def test_a_free_port_lies_below_those_that_clients_are_given() -> None:
    with socket.socket() as client:
        client.bind(("127.0.0.1", 0))
        assert PORT_MIN <= free_port() < PORT_MAX <= client.getsockname()[1]


def test_a_port_that_somebody_listens_on_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert not is_free(taken.getsockname()[1])


def test_no_port_is_given_twice() -> None:
    given = [free_port() for _ in range(300)]
    assert len(set(given)) == 300
