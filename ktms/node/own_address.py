"""This machine's own address on the way to the gateway; finding it sends nothing.

Not here: whether it is the one that is announced (`public_url.py`).
"""

import socket
from urllib.parse import urlsplit


def own_address_towards(gateway: str) -> str | None:
    """Give this machine's address on the way to the gateway; None where no name or no way leads there."""
    try:
        url = urlsplit(gateway)
        port = url.port or (443 if url.scheme == "https" else 80)
        found = socket.getaddrinfo(url.hostname, port, type=socket.SOCK_DGRAM)
    except (OSError, ValueError):  # no port, or a label of a name that is none
        return None
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as way:
                way.connect(address)  # UDP: chooses an interface and sends nothing
                return str(way.getsockname()[0])
        except OSError:
            continue
    return None
