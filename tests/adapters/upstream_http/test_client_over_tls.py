"""The client over TLS, against a vendor whose authority the test makes itself."""

import asyncio
import datetime as dt
import hashlib
import ssl
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.dialler import LoopNetwork
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.domain.catalogue import ANY_CERTIFICATE
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.domain.snapshot import Origin, Reach
from ktms.ports.upstream import Flow, UpstreamFailed
from tests.adapters.upstream_http.scripted import (
    LAST_CHUNK,
    SHORT_S,
    Collector,
    Peer,
    Serve,
    Vendor,
    answering,
    ask,
    chunk,
    silent,
    stream_head,
)

NAME = "vendor.test"
NOW = dt.datetime.now(dt.UTC)


def _certificate(
    subject: str, issuer: str, key: ec.EllipticCurvePublicKey, *, authority: bool, name: str = NAME
) -> x509.CertificateBuilder:
    alternative = x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(ip_address("127.0.0.9"))])
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - dt.timedelta(days=1))
        .not_valid_after(NOW + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(alternative, critical=False)
    )


class Authority:
    """Makes certificates that its own client context trusts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        built = _certificate("authority", "authority", self._key.public_key(), authority=True)
        root = built.sign(self._key, hashes.SHA256())
        self.trusting = ssl.create_default_context(cadata=root.public_bytes(serialization.Encoding.PEM).decode())

    def server(self, name: str = NAME) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        made = _certificate("vendor", "authority", key.public_key(), authority=False, name=name)
        chain = self._folder / f"{name}.pem"
        chain.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(chain)
        return context


class NamedLoopback(LoopNetwork):
    """Every name is this machine; the rest is real."""

    async def resolve(self, host: str, port: int) -> tuple[str, ...]:
        assert (host, port > 0) == (NAME, True)
        return ("127.0.0.1",)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def upstream_trusting(context: ssl.SSLContext | None) -> HttpUpstream:
    return HttpUpstream(UpstreamSettings(ssl_context=context), AddressRules(), network=NamedLoopback())


async def failure(upstream: HttpUpstream, vendor: Vendor, timers: Timers | None = None) -> FailureKind:
    with pytest.raises(UpstreamFailed) as failed:
        await upstream.send(ask(vendor) if timers is None else ask(vendor, timers=timers))
    await upstream.close()
    assert upstream.open_connections == 0
    return failed.value.kind


async def test_exchanges_over_tls_reuse_their_connection(serve: Serve, authority: Authority) -> None:
    vendor = await serve(answering, authority.server(), NAME)
    upstream = upstream_trusting(authority.trusting)
    for _ in range(5):
        got = await upstream.send(ask(vendor))
        assert await got.read(9) == b"{}"
        got.close()
    assert (vendor.accepted_total, upstream.idle_connections) == (1, 1)
    await upstream.close()


async def test_the_server_is_asked_for_by_name(serve: Serve, authority: Authority) -> None:
    asked: list[str | None] = []
    context = authority.server()
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    vendor = await serve(answering, context, NAME)
    upstream = upstream_trusting(authority.trusting)
    (await upstream.send(ask(vendor))).close()
    assert asked == [NAME]
    await upstream.close()


async def test_another_name_than_the_certificates_is_refused(serve: Serve, authority: Authority) -> None:
    vendor = await serve(answering, authority.server("other.test"), NAME)
    assert await failure(upstream_trusting(authority.trusting), vendor) is FailureKind.TLS


def fingerprint(folder: Path) -> str:
    """SHA-256 of the certificate that `Authority.server` made last."""
    pem = (folder / f"{NAME}.pem").read_text()
    body = pem[pem.index("-----BEGIN CERTIFICATE") :]
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(body)).hexdigest()


def pinned(vendor: Vendor, certificate: str) -> Vendor:
    return Vendor(replace(vendor.origin, certificate=certificate))


async def test_a_certificate_that_no_authority_signed_is_accepted_where_it_is_the_pinned_one(
    serve: Serve, authority: Authority, tmp_path: Path
) -> None:
    offered = await serve(answering, authority.server(), NAME)
    vendor = pinned(offered, fingerprint(tmp_path))
    upstream = upstream_trusting(None)
    got = await upstream.send(ask(vendor))
    assert await got.read(9) == b"{}"
    got.close()
    await upstream.close()


async def test_another_certificate_than_the_pinned_one_gets_no_request(serve: Serve, authority: Authority) -> None:
    heard: list[bytes] = []

    async def script(peer: Peer) -> None:
        heard.append(await peer.reader.read(1))

    vendor = pinned(await serve(script, authority.server(), NAME), "ab" * 32)
    assert await failure(upstream_trusting(authority.trusting), vendor) is FailureKind.TLS
    assert heard in ([], [b""])


async def test_any_certificate_is_accepted_where_that_is_wanted(serve: Serve, authority: Authority) -> None:
    vendor = pinned(await serve(answering, authority.server("other.test"), NAME), ANY_CERTIFICATE)
    upstream = upstream_trusting(None)
    (await upstream.send(ask(vendor))).close()
    await upstream.close()


async def test_connections_of_another_pin_are_not_shared(
    serve: Serve, authority: Authority, tmp_path: Path
) -> None:
    vendor = await serve(answering, authority.server(), NAME)
    upstream = upstream_trusting(authority.trusting)
    for certificate in (fingerprint(tmp_path), ANY_CERTIFICATE):
        got = await upstream.send(ask(pinned(vendor, certificate)))
        await got.read(9)
        got.close()
    assert vendor.accepted_total == 2
    await upstream.close()


async def test_an_unknown_authority_is_refused(serve: Serve, authority: Authority) -> None:
    vendor = await serve(answering, authority.server(), NAME)
    assert await failure(upstream_trusting(None), vendor) is FailureKind.TLS


async def test_plain_http_behind_https_is_a_tls_failure(serve: Serve, authority: Authority) -> None:
    async def plain(peer: Peer) -> None:
        await peer.reader.read(10)
        await peer.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await peer.gone()

    listening = (await serve(plain)).origin
    vendor = Vendor(Origin("https", NAME, listening.port, "", Reach.PRIVATE))
    assert await failure(upstream_trusting(authority.trusting), vendor) is FailureKind.TLS


@pytest.mark.parametrize("talks", [True, False])
async def test_a_handshake_is_part_of_connecting(serve: Serve, authority: Authority, talks: bool) -> None:
    async def mute(peer: Peer) -> None:
        if talks:
            await peer.gone()
        else:
            await peer.reader.read(10)
            peer.reset()

    listening = (await serve(mute)).origin
    vendor = Vendor(Origin("https", NAME, listening.port, "", Reach.PRIVATE))
    timers = Timers(9.0, SHORT_S if talks else 9.0, 9.0, 9.0, 9.0)
    expected = FailureKind.CONNECT_TIMEOUT if talks else FailureKind.TLS
    assert await failure(upstream_trusting(authority.trusting), vendor, timers) is expected


async def test_cancelled_in_the_handshake_closes_at_once(serve: Serve, authority: Authority) -> None:
    hello, gone = asyncio.Event(), asyncio.Event()

    async def mute(peer: Peer) -> None:
        await peer.reader.read(10)
        hello.set()
        await peer.gone()
        gone.set()

    listening = (await serve(mute)).origin
    vendor = Vendor(Origin("https", NAME, listening.port, "", Reach.PRIVATE))
    upstream = upstream_trusting(authority.trusting)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(upstream.send(ask(vendor)))
        await hello.wait()
        task.cancel()
    await gone.wait()
    assert upstream.open_connections == 0


async def test_cancelled_in_the_body_closes_at_once(serve: Serve, authority: Authority) -> None:
    gone = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head(), chunk(b"x"))
        await peer.gone()
        gone.set()

    upstream = upstream_trusting(authority.trusting)
    got = await upstream.send(ask(await serve(script, authority.server(), NAME)))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(got.pour(Collector()))
        await asyncio.sleep(0)
        task.cancel()
    await gone.wait()
    assert upstream.open_connections == 0


async def test_a_timer_ends_a_silent_exchange(serve: Serve, authority: Authority) -> None:
    vendor = await serve(silent, authority.server(), NAME)
    timers = Timers(9.0, 9.0, SHORT_S, 9.0, 9.0)
    upstream = upstream_trusting(authority.trusting)
    assert await failure(upstream, vendor, timers) is FailureKind.FIRST_TOKEN_TIMEOUT


async def test_a_choked_stream_over_tls_arrives_whole(serve: Serve, authority: Authority) -> None:
    total = 8 << 20

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head())
        for _ in range(total // 65_536):
            await peer.send(chunk(b"x" * 65_536))
        await peer.send(LAST_CHUNK)
        await peer.gone()

    upstream = upstream_trusting(authority.trusting)
    got = await upstream.send(ask(await serve(script, authority.server(), NAME)))
    sink = Collector(lambda number: Flow.CHOKED if number % 3 == 0 else Flow.FLOWING)
    pours = 1
    while not await got.pour(sink):
        pours += 1
    assert pours > 3
    assert len(sink.text) == total
    got.close()
    assert upstream.idle_connections == 1
    await upstream.close()


async def test_an_engine_that_closes_after_each_stream_costs_no_call(serve: Serve, authority: Authority) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head(), chunk(b"x"), LAST_CHUNK)
        peer.close()

    vendor = await serve(script, authority.server(), NAME)
    upstream = upstream_trusting(authority.trusting)
    for _ in range(20):
        got = await upstream.send(ask(vendor))
        assert await got.read(9) == b"x"
        got.close()
    await upstream.close()
