"""Dialling: what is asked of the network, in which order, how failures are named. No packet leaves here."""

import asyncio
import errno
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.connection import Connection
from ktms.adapters.upstream_http.dialler import ADDRESSES_MAX, Dialler
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.snapshot import Origin, Reach
from ktms.ports.upstream import UpstreamFailed

Result = Exception | None
"""What dialling an address comes to: None is success."""


@dataclass
class RecordingNetwork:
    """Resolves and dials on paper. `hang` lists addresses that never answer."""

    addresses: tuple[str, ...] = ("8.8.8.8",)
    results: dict[str, Result] = field(default_factory=dict)
    hang: frozenset[str] = frozenset()
    unknown: Exception | None = None
    resolved: list[tuple[str, int]] = field(default_factory=list)
    dialled: list[tuple[str, int, bool, str | None]] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> tuple[str, ...]:
        self.resolved.append((host, port))
        if self.unknown is not None:
            raise self.unknown
        return self.addresses

    async def connect(
        self,
        factory: Callable[[], Connection],
        address: str,
        port: int,
        tls: ssl.SSLContext | None,
        server_hostname: str | None,
    ) -> Connection:
        self.dialled.append((address, port, tls is not None, server_hostname))
        if address in self.hang:
            await asyncio.get_running_loop().create_future()
        result = self.results.get(address)
        if result is not None:
            raise result
        return factory()


async def dial(network: RecordingNetwork, origin: Origin, *, within_s: float = 5.0) -> Connection:
    loop = asyncio.get_running_loop()
    dialler = Dialler(network, AddressRules(), ssl.create_default_context())
    return await dialler.dial(
        origin,
        lambda: Connection(loop, lambda _: None),
        at=loop.time() + within_s,
        late=FailureKind.CONNECT_TIMEOUT,
    )


async def failure(network: RecordingNetwork, origin: Origin, *, within_s: float = 5.0) -> FailureKind:
    with pytest.raises(UpstreamFailed) as failed:
        await dial(network, origin, within_s=within_s)
    assert not any(address in failed.value.detail for address in network.addresses)
    assert origin.host not in failed.value.detail
    return failed.value.kind


def vendor(host: str = "api.example.com", reach: Reach = Reach.PUBLIC, scheme: str = "https") -> Origin:
    return Origin(scheme, host, 443, "", reach)


async def test_the_checked_address_is_dialled_and_the_name_is_what_tls_checks() -> None:
    network = RecordingNetwork(("8.8.8.8",))
    await dial(network, vendor("api.example.com."))
    assert network.dialled == [("8.8.8.8", 443, True, "api.example.com")]


async def test_plain_http_has_no_tls() -> None:
    network = RecordingNetwork()
    await dial(network, vendor(scheme="http"))
    assert network.dialled == [("8.8.8.8", 443, False, None)]


async def test_a_literal_is_not_resolved_but_guarded() -> None:
    network = RecordingNetwork()
    await dial(network, vendor("1.1.1.1"))
    assert (network.resolved, network.dialled[0][0]) == ([], "1.1.1.1")
    assert await failure(network, vendor("127.0.0.1")) is FailureKind.ADDRESS_REFUSED
    assert len(network.dialled) == 1


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254", "::ffff:7f00:1", "no-address"]
)
async def test_a_name_that_leads_to_a_refused_address_is_not_dialled(address: str) -> None:
    network = RecordingNetwork((address,))
    assert await failure(network, vendor()) is FailureKind.ADDRESS_REFUSED
    assert network.dialled == []


async def test_of_several_addresses_only_the_allowed_are_dialled() -> None:
    network = RecordingNetwork(("fe80::1", "10.0.0.1", "8.8.8.8"))
    await dial(network, vendor())
    assert [address for address, *_ in network.dialled] == ["8.8.8.8"]


async def test_a_name_that_rebinds_gains_nothing() -> None:
    network = RecordingNetwork(("8.8.8.8",))
    await dial(network, vendor())
    network.addresses = ("127.0.0.1",)
    assert await failure(network, vendor()) is FailureKind.ADDRESS_REFUSED
    assert [address for address, *_ in network.dialled] == ["8.8.8.8"]
    assert len(network.resolved) == 2, "answers are not kept"


async def test_addresses_are_tried_in_their_order_until_one_answers() -> None:
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "no")
    unreachable = OSError(errno.ENETUNREACH, "no")
    network = RecordingNetwork(
        ("2606:4700::1", "8.8.8.8", "1.1.1.1"), {"2606:4700::1": unreachable, "8.8.8.8": refused}
    )
    await dial(network, vendor())
    assert [address for address, *_ in network.dialled] == ["2606:4700::1", "8.8.8.8", "1.1.1.1"]


async def test_a_silent_address_leaves_time_for_the_next() -> None:
    network = RecordingNetwork(("2606:4700::1", "8.8.8.8"), hang=frozenset({"2606:4700::1"}))
    await dial(network, vendor(), within_s=0.2)
    assert [address for address, *_ in network.dialled] == ["2606:4700::1", "8.8.8.8"]


async def test_not_every_address_is_tried() -> None:
    addresses = tuple(f"8.8.8.{number}" for number in range(20))
    refused: dict[str, Result] = dict.fromkeys(addresses, ConnectionRefusedError(errno.ECONNREFUSED, "no"))
    network = RecordingNetwork(addresses, refused)
    assert await failure(network, vendor()) is FailureKind.REFUSED
    assert len(network.dialled) == ADDRESSES_MAX


async def test_a_tls_failure_ends_the_dialling() -> None:
    network = RecordingNetwork(("8.8.8.8", "1.1.1.1"), {"8.8.8.8": ssl.SSLCertVerificationError("bad")})
    assert await failure(network, vendor()) is FailureKind.TLS
    assert len(network.dialled) == 1


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "x"), FailureKind.REFUSED),
        (OSError(errno.EHOSTUNREACH, "x"), FailureKind.REFUSED),
        (TimeoutError(errno.ETIMEDOUT, "x"), FailureKind.CONNECT_TIMEOUT),
        (OSError(errno.EMFILE, "x"), FailureKind.POOL_TIMEOUT),
        (OSError(errno.EADDRNOTAVAIL, "x"), FailureKind.POOL_TIMEOUT),
        (ssl.SSLError("x"), FailureKind.TLS),
        (ssl.SSLCertVerificationError("x"), FailureKind.TLS),
        (ConnectionResetError(errno.ECONNRESET, "x"), FailureKind.TLS),
        (ConnectionAbortedError("x"), FailureKind.TLS),
    ],
)
async def test_failures_of_dialling_have_their_kind(error: Exception, kind: FailureKind) -> None:
    assert await failure(RecordingNetwork(results={"8.8.8.8": error}), vendor()) is kind


async def test_a_reset_without_tls_is_a_refusal() -> None:
    network = RecordingNetwork(results={"8.8.8.8": ConnectionResetError(errno.ECONNRESET, "x")})
    assert await failure(network, vendor(scheme="http")) is FailureKind.REFUSED


@pytest.mark.parametrize("unknown", [OSError("no such name"), UnicodeError("label too long")])
async def test_an_unknown_name_is_a_refusal(unknown: Exception) -> None:
    assert await failure(RecordingNetwork(unknown=unknown), vendor()) is FailureKind.REFUSED


async def test_a_name_without_address_is_a_refusal() -> None:
    assert await failure(RecordingNetwork(()), vendor()) is FailureKind.REFUSED


async def test_silence_is_a_connect_timeout() -> None:
    network = RecordingNetwork(("8.8.8.8", "1.1.1.1"), hang=frozenset({"8.8.8.8", "1.1.1.1"}))
    assert await failure(network, vendor(), within_s=0.1) is FailureKind.CONNECT_TIMEOUT
    assert len(network.dialled) == 2


async def test_the_cause_is_kept() -> None:
    error = ConnectionRefusedError(errno.ECONNREFUSED, "x")
    with pytest.raises(UpstreamFailed) as failed:
        await dial(RecordingNetwork(results={"8.8.8.8": error}), vendor())
    assert failed.value.__cause__ is error


async def test_fg8_a_name_that_no_descriptor_is_left_to_ask_for_is_no_failure_of_the_target() -> None:
    network = RecordingNetwork(unknown=OSError(errno.EMFILE, "Too many open files"))
    assert await failure(network, vendor()) is FailureKind.POOL_TIMEOUT
