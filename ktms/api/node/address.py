"""Whether the address that an announcement names outright may be dialled at all.

Only literals are judged here: where a name leads is known when it is dialled, and the dialler judges every
connection by the same rules. Which addresses those are is handed in, since it depends on the gateway's settings.
"""

from collections.abc import Callable

from ktms.domain.url import Url

AddressRefusal = Callable[[str], str | None]
"""Says why an address may not be a node's, without repeating it; None when it may."""

LOOPBACK = "127.0.0.1"
"""What names of this very machine lead to (RFC 6761, 6.3)."""


def address_refused(url: Url, refusal: AddressRefusal) -> str | None:
    """Judge the host of a URL where it is an address, or a name that stands for one."""
    if url.address is not None:
        return refusal(str(url.address))
    is_local = url.host == "localhost" or url.host.endswith(".localhost")
    return refusal(LOOPBACK) if is_local else None
