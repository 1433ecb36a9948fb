"""The tunnel: cloudflared's metrics, the way to Cloudflare's edge, and what its public address answers.

The way over UDP is asked for with a QUIC packet of a version that nobody has: a server has to answer with those it
has (RFC 9000, 6.1). Only asked for where a tunnel is set up. Not here: running it (`tunnel.py`).
"""

import asyncio
from dataclasses import dataclass

import aiohttp

from ktms.node.doctor.facts import Page, TunnelFacts
from ktms.node.engines.http import EngineHttp
from ktms.node.engines.processes import Process
from ktms.node.engines.told import members
from ktms.node.filter.listing import STATE_HEADER
from ktms.node.settings import NodeSettings

DIAL_S = 3.0
"""A connection to another continent, with one packet lost."""

EDGE_S = 2.0
"""For any answer to one of the packets."""

UDP_SENDS = 3
"""A packet may be lost; three in a row are not."""

ORIGIN_S = 10.0
"""Through the edge and back, and the filter answers from memory."""

ORIGIN_MAX_BYTES = 65_536
"""Whether it is empty is all that counts."""

_QUIC = bytes([0xC0, 0x1A, 0x2A, 0x3A, 0x4A, 8]) + b"ktmsdoct" + b"\0"
QUIC_LEAST_BYTES = 1200
"""Servers pass over shorter ones."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Where tunnels end."""

    host: str
    port: int


EDGE = Edge("region1.v2.argotunnel.com", 7844)
"""The first of its regions."""


async def ask_tunnel(
    settings: NodeSettings,
    *,
    metrics_port: int,
    url: str | None,
    processes: tuple[Process, ...],
    edge: Edge,
    near: aiohttp.ClientSession,
    far: aiohttp.ClientSession,
) -> TunnelFacts:
    """Ask; `url` is the node's public one, where it is known."""
    ready = await EngineHttp(f"http://127.0.0.1:{metrics_port}", near).page("/ready")
    if ready is None:
        return TunnelFacts(runs=False)
    count = members(ready.value).get("readyConnections")
    connections = count if isinstance(count, int) else 0
    child = next((one for one in processes if one.program == "cloudflared"), None)
    is_over_tcp = child is not None and child.option("--protocol") == "http2"
    udp = tcp = None
    if not connections or is_over_tcp:
        udp, tcp = await asyncio.gather(_udp(edge), _tcp(edge))
    origin = await _origin(settings, url, far) if connections and url is not None else None
    return TunnelFacts(
        runs=True, connections=connections, is_over_tcp=is_over_tcp, udp=udp, tcp=tcp, url=url, origin=origin
    )


async def _origin(settings: NodeSettings, url: str, session: aiohttp.ClientSession) -> Page | None:
    """Ask for the list of models as the gateway does; the agent's own answer bears its mark."""
    headers = {"Authorization": f"Bearer {settings.node_token.reveal()}"}
    timeout = aiohttp.ClientTimeout(total=ORIGIN_S)
    try:
        async with session.get(
            url.rstrip("/") + "/v1/models", headers=headers, timeout=timeout, allow_redirects=False
        ) as answer:
            body = await answer.content.read(ORIGIN_MAX_BYTES)
            return Page(answer.status, not body, STATE_HEADER in answer.headers)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return None


class _Echo(asyncio.DatagramProtocol):
    """Waits for any answer."""

    def __init__(self) -> None:
        self.answered = asyncio.Event()

    def datagram_received(self, data: bytes, addr: tuple[str | int, ...]) -> None:
        del data, addr
        self.answered.set()


async def _udp(edge: Edge) -> bool:
    loop = asyncio.get_running_loop()
    try:
        transport, echo = await loop.create_datagram_endpoint(_Echo, remote_addr=(edge.host, edge.port))
    except (OSError, UnicodeError):
        return False
    try:
        for _ in range(UDP_SENDS):
            transport.sendto(_QUIC.ljust(QUIC_LEAST_BYTES, b"\0"))
            try:
                async with asyncio.timeout(EDGE_S / UDP_SENDS):
                    await echo.answered.wait()
            except TimeoutError:
                continue
            return True
        return False
    finally:
        transport.abort()


async def _tcp(edge: Edge) -> bool:
    try:
        async with asyncio.timeout(DIAL_S):
            _, writer = await asyncio.open_connection(edge.host, edge.port)
    except (OSError, TimeoutError, UnicodeError):
        return False
    writer.transport.abort()
    return True
