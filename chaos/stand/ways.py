"""Ways between the parts of a stand, each by a proxy that can be broken.

A service has one proxy for all replicas, or one per replica where halves are to be cut off. Not here: breaking.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from chaos.proxy.proxy import Proxy
from chaos.services.service import Address

Key = tuple[str, str]
"""Service, and replica where that has its own; empty for all."""


class MakesProxies(Protocol):
    """Who makes proxies."""

    async def proxy(self, name: str, upstream: Address) -> Proxy:
        """Make one, and listen."""
        ...


class Ways:
    """The proxies of a stand, by service and replica."""

    def __init__(self, apart: frozenset[str], gateways: Sequence[str]) -> None:
        self._apart = apart
        self._gateways = tuple(gateways)
        self._proxies: dict[Key, Proxy] = {}

    async def lead_to(self, service: str, upstream: Address, proxies: MakesProxies) -> None:
        """Make the way, or the ways, to a service."""
        for gateway in self._gateways if service in self._apart else ("",):
            name = f"{service}-{gateway}" if gateway else service
            self._proxies[service, gateway] = await proxies.proxy(name, upstream)

    def __getitem__(self, service: str) -> Proxy:
        """Give the proxy of a service that all replicas share."""
        return self._proxies[service, ""]

    def of(self, service: str, gateway: str) -> Proxy:
        """Give the proxy by which a replica reaches a service."""
        return self._proxies[service, gateway if service in self._apart else ""]

    def all_to(self, service: str) -> tuple[Proxy, ...]:
        """Give all proxies of a service."""
        return tuple(proxy for (of, _), proxy in self._proxies.items() if of == service)

    async def heal(self) -> None:
        """Heal every one."""
        for proxy in self._proxies.values():
            await proxy.heal()

    def listens(self, services: Mapping[str, Address]) -> dict[str, Address]:
        """Give where targets are to be reached: behind their proxies, where they have some."""
        return {
            name: self._proxies[name, ""].listens if (name, "") in self._proxies else at
            for name, at in services.items()
        }
