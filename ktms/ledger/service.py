"""The methods of the accounting service: read the message, ask the ledger, write the answer or a status.

A status tells whose fault it was; an unforeseen error is INTERNAL without details.
Not here: the port and its limits (`server.py`), what the ledger does (adapters/postgres).
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

import grpc
from google.protobuf.message import DecodeError, Message

from ktms.adapters.grpc.event_messages import MessageInvalid, event_of
from ktms.adapters.grpc.gen import ledger_pb2
from ktms.adapters.grpc.report_messages import query_of, row_message, spent_message
from ktms.adapters.grpc.wire import ACCOUNTS_MAX, EVENTS_MAX
from ktms.domain.access.usage_report import UsageTooFine
from ktms.domain.fault import fault_of
from ktms.ports.ledger import Ledger, LedgerAway
from ktms.ports.telemetry import Telemetry
from ktms.ports.usage_reports import UsageReports

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"

RPC_TIMEOUT_S = 24.0
"""For callers without a deadline of their own; the database is given less for each kind of question."""

FIELD_MAX = 512
"""Characters of a name: longer than any of the gateway's own, and an index row must hold several."""


class Refused(Exception):
    """The call ends with this status."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


class Books(Ledger, UsageReports, Protocol):
    """What stands behind the service."""


class LedgerService:
    """The methods by their names."""

    def __init__(self, books: Books, telemetry: Telemetry) -> None:
        self._books = books
        self._telemetry = telemetry

    def handlers(self) -> dict[str, "grpc.RpcMethodHandler[bytes, bytes]"]:
        """Give the handlers of all methods; without a deserializer the library hands over the bytes."""
        methods = {"RecordUsage": self._record, "GetUsage": self._usage, "GetSpent": self._spent}
        return {
            name: grpc.unary_unary_rpc_method_handler(self._behaviour(name, answer))
            for name, answer in methods.items()
        }

    def _behaviour(
        self, name: str, answer: Callable[[bytes], Awaitable[Message]]
    ) -> Callable[[bytes, Context], Awaitable[bytes]]:
        async def behaviour(data: bytes, context: Context) -> bytes:
            try:
                return await self._answered(name, answer(data))
            except Refused as refused:
                await context.abort(refused.code, refused.details)

        return behaviour

    async def _answered(self, name: str, answer: Awaitable[Message]) -> bytes:
        try:
            async with asyncio.timeout(RPC_TIMEOUT_S):
                return (await answer).SerializeToString()
        except Exception as error:
            refused = _status(error)
            if refused.code is grpc.StatusCode.INTERNAL:
                self._telemetry.event("error", "ledger_call_failed", method=name, **fault_of(error))
            raise refused from error

    async def _record(self, data: bytes) -> Message:
        request = ledger_pb2.RecordUsageRequest.FromString(data)
        if len(request.events) > EVENTS_MAX:
            raise MessageInvalid(f"events: more than {EVENTS_MAX}")
        events = [event_of(_checked(message)) for message in request.events]
        if events:
            await self._books.send(events)
        return ledger_pb2.RecordUsageResponse()

    async def _usage(self, data: bytes) -> Message:
        query = query_of(ledger_pb2.GetUsageRequest.FromString(data))
        rows = await self._books.usage(query)
        return ledger_pb2.GetUsageResponse(rows=[row_message(row) for row in rows])

    async def _spent(self, data: bytes) -> Message:
        accounts = ledger_pb2.GetSpentRequest.FromString(data).accounts
        if len(accounts) > ACCOUNTS_MAX:
            raise MessageInvalid(f"accounts: more than {ACCOUNTS_MAX}")
        spent = await self._books.spent(accounts)
        return ledger_pb2.GetSpentResponse(spent=[spent_message(one) for one in spent])


def _checked(message: ledger_pb2.UsageEvent) -> ledger_pb2.UsageEvent:
    """Refuse what the database would refuse, or what would fill it: a batch is stored whole or not at all."""
    if not (_UUID(message.id) and _UUID(message.request_id)):
        raise MessageInvalid("id, request_id: expected UUIDs")
    for name, text in (
        ("tenant", message.tenant),
        ("key_id", message.key_id),
        ("model", message.model),
        ("chain", message.chain),
        ("vendor", message.vendor),
        ("node", message.node),
        ("vendor_model", message.vendor_model),
    ):
        if len(text) > FIELD_MAX or "\0" in text:
            raise MessageInvalid(f"{name}: longer than {FIELD_MAX} characters, or with a zero byte")
    return message


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch


def _status(error: Exception) -> Refused:
    """Put an error of the world into a status; what is not foreseen is ours."""
    match error:
        case MessageInvalid():
            return Refused(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        case DecodeError():
            return Refused(grpc.StatusCode.INVALID_ARGUMENT, "the request is no message of this method")
        case UsageTooFine():
            return Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        case LedgerAway(kind="refused"):
            return Refused(grpc.StatusCode.INVALID_ARGUMENT, "the database refuses what was asked")
        case LedgerAway():
            return Refused(
                grpc.StatusCode.UNAVAILABLE, "the database does not answer; whether it took them is unknown"
            )
        case TimeoutError():
            return Refused(
                grpc.StatusCode.DEADLINE_EXCEEDED, "not done in time; it may or may not have taken effect"
            )
        case _:
            return Refused(grpc.StatusCode.INTERNAL, "internal error")
