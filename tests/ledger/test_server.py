"""The port of the accounting service, over real sockets: TLS, plain text, health, bounds, statuses."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2

from ktms.adapters.grpc.gen import ledger_pb2
from ktms.adapters.grpc.gen.ledger_pb2_grpc import LedgerServiceStub
from ktms.adapters.grpc.ledger_client import ClientTls, GrpcLedger, LedgerTlsUnusable
from ktms.adapters.grpc.wire import ACCOUNTS_MAX, EVENTS_MAX, MESSAGE_MAX_BYTES, SERVICE
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.config.address import Address
from ktms.config.port_tls import PortTls
from ktms.domain.access.usage_event import UsageEvent
from ktms.domain.access.usage_report import UsageQuery
from ktms.domain.ids import EventId, RequestId, TenantName
from ktms.ledger.server import LedgerPortUnusable, LedgerServer, Listen
from ktms.ledger.service import FIELD_MAX, LedgerService
from ktms.ports.ledger import LedgerAway
from tests.api.admin_grpc.certificates import Certificates, make_certificates
from tests.ledger.health import health_of
from tests.usage_events import usage_event

ANYWHERE = Address("127.0.0.1", 0)
PLAIN = Listen(ANYWHERE)


class House:
    """A server over a ledger in memory."""

    def __init__(self, listen: Listen = PLAIN, book: MemoryLedger | None = None) -> None:
        self.book = book or MemoryLedger()
        self.telemetry = MemoryTelemetry()
        self.server = LedgerServer(listen, LedgerService(self.book, self.telemetry))

    @property
    def address(self) -> str:
        return f"localhost:{self.server.port}"


@asynccontextmanager
async def serving(listen: Listen = PLAIN, book: MemoryLedger | None = None) -> AsyncIterator[House]:
    house = House(listen, book)
    await house.server.start()
    try:
        yield house
    finally:
        await house.server.stop(0)


@asynccontextmanager
async def client(house: House, tls: ClientTls | None = None) -> AsyncIterator[GrpcLedger]:
    made = GrpcLedger(house.address, tls)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))


async def status_of(house: House, request: ledger_pb2.RecordUsageRequest) -> tuple[grpc.StatusCode, str]:
    async with grpc.aio.insecure_channel(house.address, [("grpc.max_send_message_length", -1)]) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await LedgerServiceStub(channel).RecordUsage(request)
    return failed.value.code(), failed.value.details() or ""


def message(**members: Any) -> ledger_pb2.UsageEvent:
    said: dict[str, Any] = {"id": usage_event(1).id, "request_id": usage_event(1).request_id, "status": 1}
    return ledger_pb2.UsageEvent(**(said | members))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"id": "nonsense"}, "id, request_id: expected UUIDs"),
        ({"request_id": ""}, "id, request_id: expected UUIDs"),
        ({"status": 0}, "status: not a status of this release"),
        ({"status": 99}, "status: not a status of this release"),
        ({"tenant": "x" * (FIELD_MAX + 1)}, "tenant: longer than 512 characters, or with a zero byte"),
        ({"node": "a\0b"}, "node: longer than 512 characters, or with a zero byte"),
    ],
    ids=["id", "request", "unspecified", "unknown", "long", "zero"],
)
async def test_an_event_that_cannot_be_is_refused_with_its_batch(members: dict[str, object], said: str) -> None:
    async with serving() as house:
        request = ledger_pb2.RecordUsageRequest(events=[message(), message(**members)])
        assert await status_of(house, request) == (grpc.StatusCode.INVALID_ARGUMENT, said)
        assert house.book.events == []


async def test_more_events_than_a_message_may_have_are_refused() -> None:
    async with serving() as house:
        request = ledger_pb2.RecordUsageRequest(events=[message()] * (EVENTS_MAX + 1))
        assert (await status_of(house, request))[0] is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_message_that_is_too_large_is_refused_unread() -> None:
    async with serving() as house:
        request = ledger_pb2.RecordUsageRequest(events=[message(tenant="x" * MESSAGE_MAX_BYTES)])
        assert (await status_of(house, request))[0] is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_bytes_that_are_no_message_are_refused() -> None:
    async with serving() as house, grpc.aio.insecure_channel(house.address) as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            "/ktms.ledger.v1.LedgerService/RecordUsage"
        )
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call(b"\xff\xff\xff")
    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_an_empty_batch_is_no_work() -> None:
    async with serving() as house, client(house) as ledger:
        house.book.away = "away"
        await ledger.send([])


async def test_too_many_accounts_are_refused() -> None:
    async with serving() as house, client(house) as ledger:
        with pytest.raises(LedgerAway) as refused:
            await ledger.spent(["key:x"] * (ACCOUNTS_MAX + 1))
    assert refused.value.kind == "refused"


class Broken(MemoryLedger):
    async def send(self, events: Sequence[UsageEvent]) -> None:  # noqa: ARG002 - it looks at none
        raise RuntimeError("a secret of ours")


async def test_an_unforeseen_error_says_nothing_of_itself() -> None:
    async with serving(book=Broken()) as house:
        request = ledger_pb2.RecordUsageRequest(events=[message()])
        assert await status_of(house, request) == (grpc.StatusCode.INTERNAL, "internal error")
        assert [(event.name, event.facts["kind"]) for event in house.telemetry.events] == [
            ("ledger_call_failed", "RuntimeError")
        ]


@pytest.mark.parametrize(
    ("kind", "told"), [("away", "away"), ("timeout", "away"), ("refused", "refused")], ids=str
)
async def test_a_database_that_fails_is_told_by_its_kind(kind: str, told: str) -> None:
    async with serving() as house, client(house) as ledger:
        house.book.away = kind
        with pytest.raises(LedgerAway) as failed:
            await ledger.send([usage_event(1)])
    assert failed.value.kind == told


async def test_an_event_of_a_gateway_with_strange_ids_is_refused_and_told_so() -> None:
    async with serving() as house, client(house) as ledger:
        with pytest.raises(LedgerAway) as failed:
            await ledger.send([usage_event(1, id=EventId("x"), request_id=RequestId("y"))])
    assert failed.value.kind == "refused"


async def test_health_says_whether_events_can_be_stored() -> None:
    async with serving() as house, grpc.aio.insecure_channel(house.address) as channel:
        assert await health_of(channel, SERVICE) == health_pb2.HealthCheckResponse.NOT_SERVING
        await house.server.tell(healthy=True)
        assert await health_of(channel, SERVICE) == health_pb2.HealthCheckResponse.SERVING


async def test_over_tls_a_gateway_with_a_certificate_is_heard(certificates: Certificates) -> None:
    tls = PortTls(certificates.cert, certificates.key, certificates.ca)
    shown = ClientTls(certificates.ca, certificates.client_cert, certificates.client_key)
    async with serving(Listen(Address("0.0.0.0", 0), tls)) as house, client(house, shown) as ledger:
        await ledger.send([usage_event(1, tenant=TenantName("a"))])
        assert len(await ledger.usage(UsageQuery(0, 100_000))) == 1


async def test_over_tls_a_gateway_without_a_certificate_is_not(certificates: Certificates) -> None:
    tls = PortTls(certificates.cert, certificates.key, certificates.ca)
    async with serving(Listen(ANYWHERE, tls)) as house, client(house, ClientTls(certificates.ca)) as ledger:
        with pytest.raises(LedgerAway):
            await ledger.send([usage_event(1)])
        assert house.book.events == []


async def test_a_gateway_does_not_trust_a_service_of_another_authority(
    certificates: Certificates, tmp_path: Path
) -> None:
    other = make_certificates(tmp_path)
    tls = PortTls(certificates.cert, certificates.key)
    async with serving(Listen(ANYWHERE, tls)) as house, client(house, ClientTls(other.ca)) as ledger:
        with pytest.raises(LedgerAway):
            await ledger.send([usage_event(1)])


async def test_plain_text_beyond_this_machine_is_refused() -> None:
    with pytest.raises(LedgerPortUnusable, match="KTMS_LEDGER_TLS_CERT"):
        await House(Listen(Address("0.0.0.0", 0))).server.start()


async def test_plain_text_beyond_this_machine_may_be_allowed() -> None:
    async with serving(Listen(Address("0.0.0.0", 0), allow_plaintext=True)) as house, client(house) as ledger:
        await ledger.send([usage_event(1)])


async def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    tls = PortTls(tmp_path / "cert", tmp_path / "key")
    with pytest.raises(LedgerPortUnusable, match="cannot read"):
        await House(Listen(ANYWHERE, tls)).server.start()


async def test_a_port_that_is_taken_is_named() -> None:
    async with serving() as house:
        taken = Listen(Address("127.0.0.1", house.server.port))
        with pytest.raises(LedgerPortUnusable, match="is it in use"):
            await House(taken).server.start()


async def test_an_authority_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerTlsUnusable, match="cannot read"):
        GrpcLedger("localhost:1", ClientTls(tmp_path / "ca"))


async def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("hello")
    with pytest.raises(LedgerTlsUnusable, match="nothing in PEM form"):
        GrpcLedger("localhost:1", ClientTls(tmp_path / "ca"))
