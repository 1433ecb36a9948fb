"""Where the gateway reaches this node: what its owner said, the tunnel's name, or this machine's own address.

Not here: how the own address is found (`own_address.py`), the tunnel (`tunnel.py`), what is announced (`said.py`).
"""

from ktms.node.said import Place
from ktms.node.settings import NodeSettings, Tls, Tunnel
from ktms.node.tunnel import TunnelState

LOOPBACK = "127.0.0.1"


def place_of(
    settings: NodeSettings, tunnel: TunnelState, own_address: str | None, certificate: str | None
) -> Place | None:
    """Decide where the node is reached; None while nobody knows.

    A tunnel's edge has a certificate that authorities have signed, so nothing is pinned there.
    """
    if settings.tunnel is Tunnel.QUICK:
        return Place(f"https://{tunnel.hostname}") if tunnel.ready and tunnel.hostname else None
    if settings.tunnel is Tunnel.NAMED:
        return Place(settings.public_url) if tunnel.ready and settings.public_url else None
    if settings.public_url is not None:
        return Place(settings.public_url, certificate)
    if own_address is None:
        return None
    host = f"[{own_address}]" if ":" in own_address else own_address
    scheme = "http" if settings.tls is Tls.OFF else "https"
    return Place(f"{scheme}://{host}:{settings.listen_port}", certificate)
