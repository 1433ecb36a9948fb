"""Whether the admin plane may listen where it is told to: in plain text on this machine alone.

Not here: reading the certificate (`tls.py`).
"""

from dataclasses import dataclass
from ipaddress import ip_address


@dataclass(frozen=True, slots=True)
class Fine:
    """Nobody else can listen in."""


@dataclass(frozen=True, slots=True)
class Warned:
    """Allowed because the operator said so; `reason` belongs into the log at every start."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Not allowed; `reason` says what to do."""

    reason: str


Exposure = Fine | Warned | Refused


def exposure(host: str, *, tls: bool, allow_plaintext: bool) -> Exposure:
    """Judge an address to listen on or to dial: admin keys and vendor keys travel over it."""
    if tls or is_loopback(host):
        return Fine()
    if allow_plaintext:
        return Warned(f"the admin plane speaks plain text on {host}: admin keys can be read on the way")
    return Refused(
        f"the admin plane would speak plain text on {host}: set KTMS_ADMIN_TLS_CERT and KTMS_ADMIN_TLS_KEY, "
        "use a loopback address, or accept the risk with KTMS_ADMIN_ALLOW_PLAINTEXT=1"
    )


def is_loopback(host: str) -> bool:
    """Whether a host leads to this machine alone; other names may lead anywhere."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
