"""Addresses to listen on or to dial, as an operator writes them: `host:port`.

Not here: which addresses may be exposed (`api/admin_grpc/exposure.py`) or dialled (the address guard).
"""

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

PORT_MAX = 65_535
"""Ports are 16 bits."""


@dataclass(frozen=True, slots=True)
class Address:
    """A host (name, IPv4, or IPv6 without brackets) and a port; port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(text: str) -> Address | None:
    """Read `host:port`, `[ipv6]:port` or `:port` (all interfaces); None for anything else."""
    host, colon, port_text = text.rpartition(":")
    port = _port(port_text)
    if not colon or port is None:
        return None
    if host == "":
        return Address("0.0.0.0", port)  # noqa: S104 - asked for by leaving the host out
    if host.startswith("[") and host.endswith("]"):
        return Address(host[1:-1], port) if _is_ipv6(host[1:-1]) else None
    return Address(host, port) if _is_host(host) else None


def _port(text: str) -> int | None:
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(PORT_MAX)):
        return None
    port = int(text)
    return port if port <= PORT_MAX else None


def _is_ipv6(text: str) -> bool:
    try:
        return isinstance(ip_address(text), IPv6Address)
    except ValueError:
        return False


def _is_host(text: str) -> bool:
    """Letters, digits, dots, hyphens and underscores: host names, container names and IPv4."""
    return text.isascii() and all(char.isalnum() or char in ".-_" for char in text)
