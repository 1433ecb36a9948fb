import pytest

from ktms.config.address import Address, read_address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:9090", "127.0.0.1", 9090),
        ("[::1]:9090", "::1", 9090),
        ("db_1.internal:0", "db_1.internal", 0),
        (":8080", "0.0.0.0", 8080),
        ("localhost:65535", "localhost", 65535),
    ],
)
def test_a_host_and_a_port_are_read(text: str, host: str, port: int) -> None:
    assert read_address(text) == Address(host, port)


@pytest.mark.parametrize(
    "text",
    ["", "8080", "localhost", "localhost:", "localhost:65536", "localhost:-1", "localhost:٣", "a b:1", "::1:9090",
     "[1.2.3.4]:1", "[zz]:1", "http://x:1", "h:99999999999999999999", "münchen:1"],
)  # fmt: skip
def test_anything_else_is_no_address(text: str) -> None:
    assert read_address(text) is None


def test_an_ipv6_address_is_written_with_brackets() -> None:
    assert str(Address("::1", 9090)) == "[::1]:9090"


def test_a_written_address_is_read_back() -> None:
    address = Address("10.0.0.7", 8790)
    assert read_address(str(address)) == address
