"""From an origin to an open connection: resolve, guard, dial, TLS, all within one deadline.

The guard sits here because every connection passes here. It sees addresses after resolution, and the address it
has seen is the one dialled, so a name that changes its answer in between gains nothing. TLS still checks the name.
Not here: how many connections may be open (pool.py).
"""

import asyncio
import errno
import functools
import socket
import ssl
from collections.abc import Callable
from ipaddress import ip_address
from typing import Protocol

from ktms.adapters.upstream_http.address_rules import ReachGuard
from ktms.adapters.upstream_http.connection import Connection
from ktms.adapters.upstream_http.resolver import Resolver
from ktms.domain.catalogue import ANY_CERTIFICATE
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.snapshot import Origin
from ktms.ports.upstream import UpstreamFailed

ADDRESSES_MAX = 4
"""Addresses of one name that are dialled in turn; the time limit is over before more would help."""

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})
"""Our own machine ran out of descriptors, memory or ports: not the target's fault (FG8)."""

_NEXT_ADDRESS = frozenset({FailureKind.REFUSED, FailureKind.CONNECT_TIMEOUT})

_TOO_LATE = "not connected in time"
_NONE_LEFT = "this machine has no descriptor or port left"


class Network(Protocol):
    """What the dialler needs of the world."""

    async def resolve(self, host: str, port: int) -> tuple[str, ...]:
        """Give the addresses of a name, preferred first.

        Raises:
            OSError: the name is not known, or the resolver is away.
            UnicodeError: the name is none.
        """
        ...

    async def connect(
        self,
        factory: Callable[[], Connection],
        address: str,
        port: int,
        tls: ssl.SSLContext | None,
        server_hostname: str | None,
    ) -> Connection:
        """Open a connection to an address.

        Raises:
            OSError: nobody answered there, or TLS failed (`ssl.SSLError`).
        """
        ...


class LoopNetwork:
    """The network of the running loop."""

    __slots__ = ()

    async def resolve(self, host: str, port: int) -> tuple[str, ...]:
        """Ask the loop's resolver; see `Network`."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))

    async def connect(
        self,
        factory: Callable[[], Connection],
        address: str,
        port: int,
        tls: ssl.SSLContext | None,
        server_hostname: str | None,
    ) -> Connection:
        """Open a connection of the loop; see `Network`."""
        _, connection = await asyncio.get_running_loop().create_connection(
            factory, address, port, ssl=tls, server_hostname=server_hostname
        )
        return connection


@functools.cache
def default_ssl_context() -> ssl.SSLContext:
    """The platform's trust store, host names checked, HTTP/1.1 only; made once, it reads files."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


@functools.cache
def unsigned_ssl_context() -> ssl.SSLContext:
    """For certificates that no authority has signed: neither chain nor name is checked here."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context


class Dialler:
    """Opens connections."""

    __slots__ = ("_guard", "_network", "_resolver", "_ssl_context")

    def __init__(self, network: Network, guard: ReachGuard, ssl_context: ssl.SSLContext | None) -> None:
        self._network = network
        self._guard = guard
        self._resolver = Resolver(network.resolve)
        self._ssl_context = ssl_context

    async def dial(
        self, origin: Origin, factory: Callable[[], Connection], *, at: float, late: FailureKind
    ) -> Connection:
        """Open a connection to `origin` until the instant `at`; `late` is the kind of failure after it.

        Raises:
            UpstreamFailed: refused, TLS, ADDRESS_REFUSED, POOL_TIMEOUT (our own machine is exhausted), or `late`.
        """
        try:
            async with asyncio.timeout_at(at):
                addresses = await self._allowed(origin)
                return await self._first(origin, factory, addresses, at)
        except TimeoutError as error:
            raise UpstreamFailed(late, _TOO_LATE) from error

    async def _allowed(self, origin: Origin) -> tuple[str, ...]:
        if _is_address(origin.host):
            found: tuple[str, ...] = (origin.host,)
        else:
            try:
                found = await self._resolver.addresses(origin.host, origin.port)
            except (OSError, UnicodeError) as error:
                if getattr(error, "errno", None) in _EXHAUSTED:  # a question needs a descriptor too
                    raise UpstreamFailed(FailureKind.POOL_TIMEOUT, _NONE_LEFT) from error
                raise UpstreamFailed(FailureKind.REFUSED, "the name is not known") from error
        reasons = {address: self._guard.refusal(origin.reach, address) for address in found}
        allowed = tuple(address for address, reason in reasons.items() if reason is None)
        if not found:
            raise UpstreamFailed(FailureKind.REFUSED, "the name has no address")
        if not allowed:
            raise UpstreamFailed(FailureKind.ADDRESS_REFUSED, reasons[found[0]] or "")
        return allowed[:ADDRESSES_MAX]

    async def _first(
        self, origin: Origin, factory: Callable[[], Connection], addresses: tuple[str, ...], at: float
    ) -> Connection:
        """Dial in turn; each address but the last gets half of the time that is left."""
        loop = asyncio.get_running_loop()
        for address in addresses[:-1]:
            try:
                async with asyncio.timeout_at((loop.time() + at) / 2):
                    return await self._one(origin, factory, address)
            except TimeoutError:
                continue
            except UpstreamFailed as failure:
                if failure.kind not in _NEXT_ADDRESS:
                    raise
        return await self._one(origin, factory, addresses[-1])

    async def _one(self, origin: Origin, factory: Callable[[], Connection], address: str) -> Connection:
        tls, name = None, None
        if origin.scheme == "https":
            tls, name = self._trust(origin), origin.host.rstrip(".")
        try:
            connection = await self._network.connect(factory, address, origin.port, tls, name)
        except ssl.SSLCertVerificationError as error:
            raise UpstreamFailed(FailureKind.TLS, "the certificate is not accepted") from error
        except ssl.SSLError as error:
            raise UpstreamFailed(FailureKind.TLS, "the handshake failed") from error
        except OSError as error:
            raise _translated(error, secure=tls is not None) from error
        pinned = origin.certificate not in {None, ANY_CERTIFICATE}
        if pinned and connection.certificate != origin.certificate:
            connection.abort()  # nothing was sent on it, so no token went to whoever that is
            raise UpstreamFailed(FailureKind.TLS, "another certificate than the one that was announced")
        return connection

    def _trust(self, origin: Origin) -> ssl.SSLContext:
        if origin.certificate is not None:
            return unsigned_ssl_context()
        return self._ssl_context or default_ssl_context()


def _translated(error: OSError, *, secure: bool) -> UpstreamFailed:
    if error.errno in _EXHAUSTED:
        return UpstreamFailed(FailureKind.POOL_TIMEOUT, _NONE_LEFT)
    if secure and isinstance(error, ConnectionResetError | ConnectionAbortedError):
        return UpstreamFailed(FailureKind.TLS, "closed during the handshake")
    if isinstance(error, TimeoutError):  # the system gave up before we did
        return UpstreamFailed(FailureKind.CONNECT_TIMEOUT, _TOO_LATE)
    if isinstance(error, ConnectionRefusedError):
        return UpstreamFailed(FailureKind.REFUSED, "nobody listens there")
    return UpstreamFailed(FailureKind.REFUSED, "not reachable")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
