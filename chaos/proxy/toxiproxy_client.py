"""Talking to a Toxiproxy server through toxiproxy-python, with the deadlines and the checks that it lacks.

That client blocks, waits for ever, holds its address in class attributes, takes an answer of 500 for a success and
does not return what it has set. So its transport runs in a thread, as a class of its own for each server, with a
timeout on every request, and every change is read back. Its `Toxiproxy` and `Proxy` classes are bound to the one
address and to no timeout, hence they are not used. Not here: what a change is for (`proxy.py`).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from chaos.services.service import Address

REQUEST_TIMEOUT_S = 8.0
"""One request: two milliseconds, but while data is stuck in a proxy the server tries for 5 s to get rid of it."""

DEADLINE_MARGIN_S = 1.0
"""For the thread itself, beyond the time to connect and the time to answer."""

NO_DETOUR = {"http": None, "all": None}
"""A proxy named in the environment would take even loopback elsewhere."""


class ToxiproxyFailed(Exception):
    """The server did not do as told, or did not answer in time; `why` is one line."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Toxic:
    """One way to harm a direction: `stream` is upstream (what clients say) or downstream (what they are told)."""

    kind: str
    stream: str
    attributes: Mapping[str, int]

    @property
    def name(self) -> str:
        """Its name within a proxy: one of a kind for each direction."""
        return f"{self.kind}_{self.stream}"


@dataclass(frozen=True, slots=True)
class Seen:
    """A proxy as the server has it."""

    listen: str
    enabled: bool
    toxics: Mapping[str, Mapping[str, int]]
    """Attributes of each toxic by its name."""


class ToxiproxyClient:
    """Speaks to one server; any number of servers in one process."""

    def __init__(self, address: Address, *, timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self._address = address
        self._timeout_s = timeout_s
        # Class attributes hold the address: a subclass of its own keeps servers apart.
        own = type("Transport", (APIConsumer,), {"host": address.host, "port": address.port})
        self._transport = cast("_Transport", own)

    async def make(self, name: str, listen: str, upstream: Address) -> Seen:
        """Make an enabled proxy.

        Raises:
            ToxiproxyFailed: there is one of that name, or it cannot listen there, or the server fails.
        """
        wanted = {"name": name, "listen": listen, "upstream": str(upstream), "enabled": True}
        await self._ask(f"make {name}", self._transport.post, "/proxies", json=wanted)
        return await self.look(name)

    async def look(self, name: str) -> Seen:
        """Read a proxy back.

        Raises:
            ToxiproxyFailed: there is none of that name, or the server fails.
        """
        answer = await self._ask(f"look at {name}", self._transport.get, f"/proxies/{name}")
        try:
            told = answer.json()
            toxics = {toxic["name"]: toxic["attributes"] for toxic in told["toxics"]}
            return Seen(told["listen"], told["enabled"], toxics)
        except (ValueError, KeyError, TypeError) as error:
            raise ToxiproxyFailed(f"Toxiproxy at {self._address} answers what is not a proxy") from error

    async def names(self) -> set[str]:
        """Give the names of all proxies.

        Raises:
            ToxiproxyFailed: the server fails.
        """
        answer = await self._ask("list proxies", self._transport.get, "/proxies")
        try:
            return set(answer.json())
        except (ValueError, TypeError) as error:
            raise ToxiproxyFailed(f"Toxiproxy at {self._address} answers what is no list of proxies") from error

    async def settle(self, name: str, *, enabled: bool, toxics: Sequence[Toxic] = ()) -> None:
        """Make the proxy be so, and have no other toxics, and read back that it is.

        Raises:
            ToxiproxyFailed: it is not so afterwards, or the server fails.
        """
        wanted = {toxic.name: dict(toxic.attributes) for toxic in toxics}
        before = await self.look(name)
        for gone in (each for each, attributes in before.toxics.items() if wanted.get(each) != attributes):
            await self._ask(f"heal {name}", self._transport.delete, f"/proxies/{name}/toxics/{gone}")
        for toxic in toxics:
            if before.toxics.get(toxic.name) != wanted[toxic.name]:
                await self._add(name, toxic)
        if before.enabled is not enabled:
            word = "enable" if enabled else "disable"
            await self._ask(f"{word} {name}", self._transport.post, f"/proxies/{name}", json={"enabled": enabled})
        after = await self.look(name)
        if (after.enabled, after.toxics) != (enabled, wanted):
            raise ToxiproxyFailed(f"{name} is not as it was set: {after}")

    async def remove(self, name: str) -> None:
        """Delete a proxy, its connections with it.

        Raises:
            ToxiproxyFailed: there is none of that name, or the server fails.
        """
        await self._ask(f"remove {name}", self._transport.delete, f"/proxies/{name}")

    async def _add(self, name: str, toxic: Toxic) -> None:
        body = {
            "name": toxic.name,
            "type": toxic.kind,
            "stream": toxic.stream,
            "toxicity": 1.0,  # of less the server draws from chance without a seed: runs could not be repeated
            "attributes": dict(toxic.attributes),
        }
        await self._ask(f"harm {name}", self._transport.post, f"/proxies/{name}/toxics", json=body)

    async def _ask(self, what: str, method: "_Method", path: str, **body: object) -> "_Answer":
        deadline_s = 2 * self._timeout_s + DEADLINE_MARGIN_S
        try:
            async with asyncio.timeout(deadline_s):
                answer = await asyncio.to_thread(method, path, timeout=self._timeout_s, proxies=NO_DETOUR, **body)
        except (ProxyExists, NotFound, InvalidToxic) as error:
            raise ToxiproxyFailed(f"Toxiproxy refuses to {what}: {_text(error)}") from error
        except OSError as error:  # a timeout, and whatever requests raises, is one
            raise ToxiproxyFailed(
                f"Toxiproxy at {self._address} does not answer to {what}: {type(error).__name__}"
            ) from error
        if answer.status_code >= 400:
            raise ToxiproxyFailed(f"Toxiproxy fails to {what}: {answer.status_code} {answer.text.strip()}")
        return answer


class _Answer(Protocol):
    """What the transport gives back."""

    status_code: int
    text: str

    def json(self) -> Any: ...


_Method = Callable[..., _Answer]


class _Transport(Protocol):
    """The class methods of toxiproxy-python's transport."""

    get: _Method
    post: _Method
    delete: _Method


def _text(error: Exception) -> str:
    """Give what the server said: the exceptions hold bytes."""
    said = error.args[0] if error.args else ""
    return said.decode(errors="replace").strip() if isinstance(said, bytes) else str(said)
