"""The accounting service as the gateway sees it: the ports Ledger and UsageReports over one gRPC channel.

Rules: every call has a deadline, so a service that hangs costs its caller no more than that; what goes wrong on
the way is LedgerAway with one word; the channel connects when it is first used and again by itself, within two
seconds of the service being back. Not here: sending again (`engine/outbox.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc

from ktms.adapters.grpc.event_messages import event_message
from ktms.adapters.grpc.gen import ledger_pb2
from ktms.adapters.grpc.gen.ledger_pb2_grpc import LedgerServiceStub
from ktms.adapters.grpc.report_messages import query_message, row_of, spent_of
from ktms.adapters.grpc.wire import MESSAGE_MAX_BYTES
from ktms.domain.access.quota import Spent
from ktms.domain.access.usage_event import UsageEvent
from ktms.domain.access.usage_report import UsageQuery, UsageRow, UsageTooFine
from ktms.ports.ledger import LedgerAway

SEND_TIMEOUT_S = 5.0
"""As long as a batch may take in all (failures: FL3)."""

SPENT_TIMEOUT_S = 3.0
"""A call may wait for it (FR11)."""

QUERY_TIMEOUT_S = 25.0
"""A little more than the service gives its database, so that its own answer arrives."""

PEM_MAX_BYTES = 256 * 1024
"""A bundle of a hundred certificates is smaller; a larger file is the wrong file."""

OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_MAX_BYTES),
    ("grpc.max_send_message_length", MESSAGE_MAX_BYTES),
    ("grpc.enable_http_proxy", 0),  # usage goes to the ledger, not to a proxy of the environment
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.keepalive_time_ms", 20_000),  # a host that is gone without a word is noticed between batches
    ("grpc.keepalive_timeout_ms", 5_000),
)

_KINDS = {
    grpc.StatusCode.UNAVAILABLE: "away",
    grpc.StatusCode.DEADLINE_EXCEEDED: "timeout",
    grpc.StatusCode.INVALID_ARGUMENT: "refused",
    grpc.StatusCode.UNAUTHENTICATED: "refused",
    grpc.StatusCode.PERMISSION_DENIED: "refused",
    grpc.StatusCode.UNIMPLEMENTED: "refused",
}


class LedgerTlsUnusable(Exception):
    """A certificate or key file cannot be used; the message names the path."""


@dataclass(frozen=True, slots=True)
class ClientTls:
    """Whom to trust (None: the system's authorities), and the certificate to show where one is asked for."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


class GrpcLedger:
    """Implements the ports Ledger and UsageReports; made inside of a running loop, closed by `close`.

    Raises:
        LedgerTlsUnusable: a file of `tls` cannot be read.
    """

    def __init__(self, address: str, tls: ClientTls | None = None) -> None:
        if tls is None:
            self._channel = grpc.aio.insecure_channel(address, OPTIONS)
        else:
            self._channel = grpc.aio.secure_channel(address, _credentials(tls), OPTIONS)
        self._stub = LedgerServiceStub(self._channel)

    async def close(self) -> None:
        """Close the channel; calls under way end at once."""
        await self._channel.close()

    async def send(self, events: Sequence[UsageEvent]) -> None:
        """Hand over a batch."""
        request = ledger_pb2.RecordUsageRequest(events=[event_message(event) for event in events])
        try:
            await self._stub.RecordUsage(request, timeout=SEND_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            raise _away(error) from error

    async def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        """Ask for sums."""
        try:
            answer = await self._stub.GetUsage(query_message(query), timeout=QUERY_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise UsageTooFine from error
            raise _away(error) from error
        return [row_of(row) for row in answer.rows]

    async def spent(self, accounts: Sequence[str]) -> Sequence[Spent]:
        """Ask what accounts have spent."""
        request = ledger_pb2.GetSpentRequest(accounts=accounts)
        try:
            answer = await self._stub.GetSpent(request, timeout=SPENT_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            raise _away(error) from error
        return [spent_of(spent) for spent in answer.spent]


def _away(error: grpc.aio.AioRpcError) -> LedgerAway:
    return LedgerAway(_KINDS.get(error.code(), "error"))


def _credentials(tls: ClientTls) -> grpc.ChannelCredentials:
    ca, cert, key = (None if path is None else _pem(path) for path in (tls.ca, tls.cert, tls.key))
    return grpc.ssl_channel_credentials(root_certificates=ca, private_key=key, certificate_chain=cert)


def _pem(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(PEM_MAX_BYTES + 1)
    except OSError as error:
        raise LedgerTlsUnusable(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > PEM_MAX_BYTES or b"-----BEGIN " not in data:
        raise LedgerTlsUnusable(f"{path} does not hold what is expected: nothing in PEM form")
    return data
