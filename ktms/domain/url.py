"""URLs of vendors and nodes, read strictly: what is not plainly meant is refused.

The parser is ours because lenient ones repair (drop line ends, decode, resolve dots), and then the text that was
checked is not the address that is dialled. Which addresses a *name* leads to is guarded in the dialler, which sees
every connection; here only literals are judged.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

LENGTH_MAX = 2048
"""Longer base URLs are mistakes; the bound keeps the pattern's work small."""

PORT_MAX = 65_535  # ports are 16 bits (RFC 9293, 3.1)

_HOST_MAX = 253  # RFC 1035, 2.3.4
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")

_DEFAULT_PORT = {"http": 80, "https": 443}

_FORM = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/[A-Za-z0-9._~!$&'()*+,;=:@/-]*)?",
    re.IGNORECASE | re.ASCII,
)

_METADATA_NETWORKS = (
    ip_network("169.254.0.0/16"),  # link-local; credentials of the big clouds live at .169.254
    ip_network("fe80::/10"),
    ip_network("fd00:ec2::/32"),  # the same service over IPv6
    ip_network("100.100.100.200/32"),
)
_METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "instance-data"})


class UrlInvalid(ValueError):
    """The text is no URL that we would dial; the message never repeats it (it may hold a password)."""


@dataclass(frozen=True, slots=True)
class Url:
    """A base URL, taken apart. `host` is lower case and without brackets; `base_path` has no trailing slash."""

    scheme: str
    host: str
    port: int
    base_path: str

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The host as an address, IPv4-mapped ones unwrapped; None when it is a name."""
        try:
            found = ip_address(self.host)
        except ValueError:
            return None
        return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found

    @property
    def is_undiallable(self) -> bool:
        """Whether nobody may ever be sent here: link-local, metadata services, unspecified, multicast."""
        found = self.address
        if found is None:
            return self.host in _METADATA_NAMES
        return found.is_unspecified or found.is_multicast or any(found in block for block in _METADATA_NETWORKS)

    @property
    def is_private(self) -> bool:
        """Whether the text alone says that this is no public address."""
        found = self.address
        if found is None:
            return self.host == "localhost" or self.host.endswith(".localhost")
        return not found.is_global


def read_url(text: str) -> Url:
    """Read a base URL.

    Raises:
        UrlInvalid: not http or https, or with user name, query, fragment, dot segments, bad host or port.
    """
    if len(text) > LENGTH_MAX:
        raise UrlInvalid(f"is longer than {LENGTH_MAX} characters")
    if not text.lower().startswith(("http://", "https://")):
        raise UrlInvalid("must begin with http:// or https://")
    match = _FORM.fullmatch(text)
    if match is None:
        raise UrlInvalid(
            "must look like https://host[:port][/path], without spaces, user name, password, query or fragment"
        )
    scheme = match["scheme"].lower()
    port = int(match["port"] or _DEFAULT_PORT[scheme])
    if not 0 < port <= PORT_MAX:
        raise UrlInvalid(f"has a port outside 1 to {PORT_MAX}")
    return Url(scheme, _host(match["host"]), port, _base_path(match["path"] or ""))


def _host(text: str) -> str:
    if text.startswith("["):
        try:
            return str(IPv6Address(text[1:-1]))
        except ValueError as error:
            raise UrlInvalid("has brackets without an IPv6 address in them") from error
    labels = text.split(".")
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        # Other spellings of IPv4 (octal, hexadecimal, fewer parts) are read differently by different resolvers.
        try:
            return str(IPv4Address(text))
        except ValueError as error:
            raise UrlInvalid("has a host that looks like an IPv4 address but is none") from error
    if len(text) > _HOST_MAX or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlInvalid("has a malformed host name")
    return text.lower()


def _base_path(text: str) -> str:
    path = text.removesuffix("/")
    if any(segment in {"", ".", ".."} for segment in path.split("/")[1:]):
        raise UrlInvalid("has empty or dot segments in its path")
    return path
