"""Which addresses may be dialled: the rules of the address guard, pure.

A name says nothing about where it leads, so the rules see addresses only, after resolution. IPv6 forms that carry
an IPv4 address (mapped, NAT64, 6to4) are judged by the address they lead to.
Not here: resolution and dialling (dialler.py), the check of a URL when a vendor or node is created.
Sources: IANA special-purpose address registries (RFC 6890), RFC 6052 (NAT64), RFC 3056 (6to4), RFC 6598 (CGNAT).
"""

from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Protocol

from ktms.domain.snapshot import Reach

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class ReachGuard(Protocol):
    """Says whether an address may be dialled."""

    def refusal(self, reach: Reach, address: str) -> str | None:
        """Give the reason why not, without the address; None when it may."""
        ...


class _Range(Enum):
    """What an address is good for. The values complete the sentence "the address is ..."."""

    FORBIDDEN = "link-local, a metadata service, or not one machine's"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    RESERVED = "reserved"
    PUBLIC = "public"


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


_METADATA = _networks(
    "169.254.169.254",  # most clouds
    "100.100.100.200",  # Alibaba
    "168.63.129.16",  # Azure's host, a public address
    "192.0.0.192",  # Oracle
    "fd00:ec2::/32",  # AWS: ::254 metadata, ::253 resolver, ::123 time
    "fd20:ce::254",  # Google
    "fd00:42::42",  # Scaleway
)
_FORBIDDEN = _METADATA + _networks(
    "0.0.0.0/8",
    "169.254.0.0/16",
    "224.0.0.0/4",
    "255.255.255.255",
    "::",
    "fe80::/10",
    "ff00::/8",
)
_LOOPBACK = _networks("127.0.0.0/8", "::1")
_PRIVATE = _networks(
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",  # carrier NAT; also where overlay networks put their machines
    "fc00::/7",
    "fec0::/10",
)
_RESERVED = _networks(
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
    "2001::/23",
    "2001:db8::/32",
    "3fff::/20",
)
_GLOBAL_V6 = IPv6Network("2000::/3")
"""The only part of IPv6 from which public addresses are given out."""

_NAT64 = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class AddressRules:
    """The gateway's rules. `node_cidrs`, when there are any, list all that a node may have as its address.

    `loopback_nodes` is for the embedded default, where the node runs beside the gateway; a list overrules it.
    """

    node_cidrs: tuple[Network, ...] = ()
    loopback_nodes: bool = False

    def refusal(self, reach: Reach, address: str) -> str | None:
        """Give the reason why this address literal may not be dialled, without the address; None when it may."""
        try:
            target = _unwrapped(ip_address(address))
        except ValueError:
            return "the name does not lead to an IP address"
        found = _range_of(target)
        if self._allows(reach, target, found):
            return None
        if reach is Reach.NODE and self.node_cidrs and found is not _Range.FORBIDDEN:
            return "the address is not among those allowed for nodes"
        return f"the address is {found.value}"

    def _allows(self, reach: Reach, target: Address, found: _Range) -> bool:
        if found is _Range.FORBIDDEN:
            return False
        if reach is Reach.NODE and self.node_cidrs:
            return _listed(target, self.node_cidrs)
        if found is _Range.LOOPBACK:
            return reach is Reach.PRIVATE or (reach is Reach.NODE and self.loopback_nodes)
        if found is _Range.PRIVATE:
            return reach is not Reach.PUBLIC
        return found is _Range.PUBLIC


def _unwrapped(address: Address) -> Address:
    """Give the IPv4 address that a packet to this IPv6 address ends at, where it carries one."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _range_of(address: Address) -> _Range:
    for networks, found in (
        (_FORBIDDEN, _Range.FORBIDDEN),
        (_LOOPBACK, _Range.LOOPBACK),
        (_PRIVATE, _Range.PRIVATE),
        (_RESERVED, _Range.RESERVED),
    ):
        if _listed(address, networks):
            return found
    if isinstance(address, IPv6Address) and address not in _GLOBAL_V6:
        return _Range.RESERVED
    return _Range.PUBLIC


def _listed(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks)
