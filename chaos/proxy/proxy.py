"""Proxies of a Toxiproxy server, with the ways to break a connection that experiments use.

    async with Proxies(services.toxiproxy) as proxies:
        redis = await proxies.proxy("redis", services.redis.address)
        await redis.hang()
        ...
        await redis.heal()

A proxy is broken in one way at a time: a new fault takes the place of the old one. Every method returns when the
server has told back that it is so. Not here: faults of the services themselves (`chaos.services`).
"""

import asyncio
import secrets
from types import TracebackType
from typing import Self

from chaos.proxy.toxiproxy_client import REQUEST_TIMEOUT_S, Toxic, ToxiproxyClient, ToxiproxyFailed
from chaos.services.free_port import free_port
from chaos.services.service import Address, ToxiproxyServer

PORT_RACES_MAX = 5
"""How often somebody may be faster at a port that looked free."""

UP, DOWN = "upstream", "downstream"
"""From the client to the service; from the service to the client."""

LOOPBACKS = {"127.0.0.1", "localhost", "::1"}


class Proxy:
    """One proxy in front of `upstream`; clients connect to `listens`."""

    def __init__(
        self, name: str, listens: Address, upstream: Address, *, known_as: str, client: ToxiproxyClient
    ) -> None:
        self.name = name
        self.listens = listens
        self.upstream = upstream
        self._known_as = known_as
        self._client = client

    async def down(self) -> None:
        """Refuse: close what is open, and listen no more."""
        await self._client.settle(self._known_as, enabled=False)

    async def hang(self) -> None:
        """Take connections and data and pass nothing on, in both directions, until healed.

        A bandwidth of nothing, because the toxic `timeout` throws data away and closes when it is taken out: here
        what was held back arrives after all.
        """
        await self._harm(*_both("bandwidth", rate=0))

    async def mute(self) -> None:
        """Pass on what is said to the service and nothing of what it answers, until healed; then that arrives."""
        await self._harm(Toxic("bandwidth", DOWN, {"rate": 0}))

    async def slow(self, ms: int, *, jitter_ms: int = 0) -> None:
        """Delay every answer by so many milliseconds, more or less by `jitter_ms`."""
        await self._harm(Toxic("latency", DOWN, {"latency": ms, "jitter": jitter_ms}))

    async def cut(self) -> None:
        """Close what is open, and work as usual for whoever comes after."""
        await self._client.settle(self._known_as, enabled=False)
        await self._client.settle(self._known_as, enabled=True)

    async def thin(self, kb_per_s: int) -> None:
        """Pass on no more than this in each direction (of one connection)."""
        assert kb_per_s > 0, "nothing at all is `hang`"
        await self._harm(*_both("bandwidth", rate=kb_per_s))

    async def sliced(self, size_bytes: int = 16, *, delay_us: int = 500) -> None:
        """Hand on answers in pieces of about this size with a pause between them: no frame arrives whole."""
        attributes = {"average_size": size_bytes, "size_variation": size_bytes // 2, "delay": delay_us}
        await self._harm(Toxic("slicer", DOWN, attributes))

    async def limit_data(self, bytes_max: int) -> None:
        """Close each connection once this much was answered on it, in the middle of an answer if need be."""
        await self._harm(Toxic("limit_data", DOWN, {"bytes": bytes_max}))

    async def reset_peer(self, *, after_ms: int = 0) -> None:
        """Reset each new connection with the first word that is said on it.

        One that was open before is closed in order with the next word (the server sets the option that makes a
        reset of it when it takes a connection), and one on which nothing is said stays.
        """
        await self._harm(*_both("reset_peer", timeout=after_ms))

    async def heal(self) -> None:
        """Work as usual again."""
        await self._harm()

    async def _harm(self, *toxics: Toxic) -> None:
        await self._client.settle(self._known_as, enabled=True, toxics=toxics)


class Proxies:
    """All proxies of one run; those that it made are gone when the context ends, whatever happened.

    Names are its own: the server sees them with the mark of the run, so that runs may share a server.
    """

    def __init__(self, server: ToxiproxyServer, *, timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self._server = server
        self._client = ToxiproxyClient(server.address, timeout_s=timeout_s)
        self._run = secrets.token_hex(4)
        self._made: list[str] = []

    async def proxy(self, name: str, upstream: Address) -> Proxy:
        """Make a proxy in front of an address, on a port that stays its own while it is down.

        Raises:
            ToxiproxyFailed: the server fails, or has one of that name.
        """
        known_as = f"ktms-{self._run}-{name}"
        host = self._server.address.host
        for races_left in reversed(range(PORT_RACES_MAX)):
            listens = Address(host, free_port())
            listen = Address(host if host in LOOPBACKS else "0.0.0.0", listens.port)  # noqa: S104  # not this machine
            try:
                await self._client.make(known_as, str(listen), upstream)
            except ToxiproxyFailed as error:
                if "address already in use" not in error.why or not races_left:
                    raise
            else:
                self._made.append(known_as)
                return Proxy(name, listens, upstream, known_as=known_as, client=self._client)
        raise AssertionError("the last race returns or raises")

    async def __aenter__(self) -> Self:
        """Look whether the server answers.

        Raises:
            ToxiproxyFailed: it does not.
        """
        await self._client.names()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(self._remove_all(quietly=error is not None))

    async def _remove_all(self, *, quietly: bool) -> None:
        """Remove them; `quietly` when another error is on its way, which must not be hidden by ours."""
        try:
            for known_as in self._made:
                await self._client.remove(known_as)
        except ToxiproxyFailed:
            if not quietly:
                raise


def _both(kind: str, **attributes: int) -> tuple[Toxic, Toxic]:
    return Toxic(kind, UP, attributes), Toxic(kind, DOWN, attributes)
