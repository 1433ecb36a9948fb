"""The address guard's rules; nothing is resolved and nothing is dialled (SX13, nodes.md)."""

from ipaddress import ip_network

import pytest

from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.domain.snapshot import Reach

DEFAULT = AddressRules()
EMBEDDED = AddressRules(loopback_nodes=True)

NEVER = [
    "169.254.169.254",
    "169.254.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd00:42::42",
    "0.0.0.0",
    "0.1.2.3",
    "255.255.255.255",
    "224.0.0.1",
    "239.255.255.255",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "ff02::1",
    "::ffff:169.254.169.254",
    "64:ff9b::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "::ffff:0.0.0.0",
]
LOOPBACK = ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]
PRIVATE = [
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "fd12:3456::1",
    "fec0::1",
    "::ffff:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "2002:a00:1::",
]
RESERVED = [
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.1",
    "198.18.0.1",
    "192.88.99.1",
    "240.0.0.1",
    "2001:db8::1",
    "2001::1",
    "3fff::1",
    "64:ff9b:1::1",
    "::10.0.0.1",
    "::8.8.8.8",
    "100::1",
    "4000::1",
    "2002:c000:201::",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1111",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]


@pytest.mark.parametrize("reach", Reach)
@pytest.mark.parametrize("address", NEVER)
def test_never_dialled_by_anybody(address: str, reach: Reach) -> None:
    for rules in (DEFAULT, EMBEDDED, AddressRules((ip_network("0.0.0.0/0"), ip_network("::/0")))):
        assert rules.refusal(reach, address) is not None


@pytest.mark.parametrize("reach", Reach)
@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_open_to_everybody(address: str, reach: Reach) -> None:
    assert DEFAULT.refusal(reach, address) is None


@pytest.mark.parametrize("address", LOOPBACK + PRIVATE + RESERVED)
def test_a_public_vendor_is_public(address: str) -> None:
    assert EMBEDDED.refusal(Reach.PUBLIC, address) is not None
    assert AddressRules((ip_network("0.0.0.0/0"), ip_network("::/0"))).refusal(Reach.PUBLIC, address) is not None


@pytest.mark.parametrize("address", LOOPBACK + PRIVATE)
def test_a_private_vendor_may_be_private_or_loopback(address: str) -> None:
    assert DEFAULT.refusal(Reach.PRIVATE, address) is None


@pytest.mark.parametrize("reach", [Reach.PRIVATE, Reach.NODE])
@pytest.mark.parametrize("address", RESERVED)
def test_reserved_addresses_are_nobodys(address: str, reach: Reach) -> None:
    assert EMBEDDED.refusal(reach, address) is not None


@pytest.mark.parametrize("address", PRIVATE)
def test_a_node_may_be_private(address: str) -> None:
    assert DEFAULT.refusal(Reach.NODE, address) is None


@pytest.mark.parametrize("address", LOOPBACK)
def test_a_node_on_loopback_is_for_the_embedded_default(address: str) -> None:
    assert DEFAULT.refusal(Reach.NODE, address) is not None
    assert EMBEDDED.refusal(Reach.NODE, address) is None


def test_a_list_names_all_that_a_node_may_be() -> None:
    rules = AddressRules((ip_network("10.1.0.0/16"), ip_network("fd12::/16")), loopback_nodes=True)
    assert rules.refusal(Reach.NODE, "10.1.2.3") is None
    assert rules.refusal(Reach.NODE, "::ffff:10.1.2.3") is None
    assert rules.refusal(Reach.NODE, "fd12::1") is None
    for address in ("10.2.0.1", "192.168.0.1", "8.8.8.8", "127.0.0.1", "fd13::1"):
        assert rules.refusal(Reach.NODE, address) is not None


def test_a_list_may_name_loopback_and_reserved_ranges() -> None:
    rules = AddressRules((ip_network("127.0.0.0/8"), ip_network("198.18.0.0/15")))
    assert rules.refusal(Reach.NODE, "127.0.0.1") is None
    assert rules.refusal(Reach.NODE, "198.18.0.1") is None


def test_a_list_does_not_concern_vendors() -> None:
    rules = AddressRules((ip_network("10.1.0.0/16"),))
    assert rules.refusal(Reach.PUBLIC, "8.8.8.8") is None
    assert rules.refusal(Reach.PRIVATE, "192.168.0.1") is None


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "0x7f000001", "2130706433", "1.2.3.4.5", "[::1]"])
def test_what_is_no_address_literal_is_refused(text: str) -> None:
    assert DEFAULT.refusal(Reach.PRIVATE, text) is not None


@pytest.mark.parametrize("address", NEVER + LOOPBACK + PRIVATE + RESERVED)
def test_reasons_do_not_show_the_address(address: str) -> None:
    for rules in (DEFAULT, AddressRules((ip_network("9.9.9.9"),))):
        for reach in Reach:
            assert address not in (rules.refusal(reach, address) or "") or address == "::"
