"""The way into every method: authenticate, then parse, then answer within a deadline; errors become statuses.

Bytes of a caller without a valid key are never parsed. A status tells whose fault it was and what to do; an
unforeseen error is INTERNAL without details, and its kind goes to the operators.
Not here: roles (`rights.py`), the port (`server.py`).
"""

import asyncio
from dataclasses import dataclass

import grpc
from google.protobuf.message import DecodeError

from ktms.api.admin_grpc.document import DocumentInvalid
from ktms.api.admin_grpc.messages import MessageInvalid
from ktms.api.admin_grpc.method import Method, NotFound
from ktms.api.admin_grpc.rights import NO_VALID_KEY, ROLE_NEEDED, Metadata, authenticate
from ktms.domain.access.actor import Actor
from ktms.domain.access.usage_report import UsageTooFine
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.fault import fault_of
from ktms.ports.catalogue import StoreAway
from ktms.ports.key_admin import KeyAdmin, NameTaken, UnknownTenant
from ktms.ports.ledger import LedgerAway
from ktms.ports.node_registry import NodeKeyTaken
from ktms.ports.telemetry import Telemetry

RPC_TIMEOUT_S = 30.0
"""For callers without a deadline of their own; an apply of the largest catalogue takes a few seconds."""

DETAILS_MAX_BYTES = 4096
"""Statuses travel as headers, of which clients take 8 KiB by default; the rest of it is overhead."""


class Refused(Exception):
    """The call ends with this status."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


@dataclass(frozen=True, slots=True)
class Door:
    """Lets calls in."""

    keys: KeyAdmin
    telemetry: Telemetry
    timeout_s: float = RPC_TIMEOUT_S

    async def answer(self, name: str, method: Method, metadata: Metadata, data: bytes) -> bytes:
        """Answer one call.

        Raises:
            Refused: with the status to send.
        """
        try:
            async with asyncio.timeout(self.timeout_s):
                actor = await self._admit(name, metadata)
                message = await method.answer(method.request.FromString(data), actor)
                return message.SerializeToString()
        except Refused:
            raise
        except Exception as error:
            refused = _status(error)
            if refused.code is grpc.StatusCode.INTERNAL:
                self.telemetry.event("error", "admin_call_failed", method=name, **fault_of(error))
            raise refused from error

    async def _admit(self, name: str, metadata: Metadata) -> Actor:
        actor = await authenticate(metadata, self.keys)
        if actor is None:
            self.telemetry.event("warning", "admin_key_refused", method=name)
            raise Refused(grpc.StatusCode.UNAUTHENTICATED, NO_VALID_KEY)
        needed = ROLE_NEEDED[name]
        if not actor.role.covers(needed):
            self.telemetry.event("warning", "admin_role_too_low", method=name, key=actor.name)
            raise Refused(
                grpc.StatusCode.PERMISSION_DENIED, f"{name} needs the role {needed}, this key has {actor.role}"
            )
        return actor


def _status(error: Exception) -> Refused:
    """Put an error of the world into a status; what is not foreseen is ours."""
    match error:
        case CatalogueInvalid():
            lines = [str(complaint) for complaint in error.complaints]
            return Refused(grpc.StatusCode.INVALID_ARGUMENT, fitting(lines))
        case DocumentInvalid() | MessageInvalid():
            return Refused(grpc.StatusCode.INVALID_ARGUMENT, fitting([str(error)]))
        case UsageTooFine():
            return Refused(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        case NotFound():
            return Refused(grpc.StatusCode.NOT_FOUND, str(error))
        case _:
            fixed = (Refused(code, text) for kind, code, text in _FIXED if isinstance(error, kind))
            return next(fixed, Refused(grpc.StatusCode.INTERNAL, "internal error"))


NO_TENANT = "this tenant does not exist: declare it under tenants in gateway.yaml, and ktms apply -f gateway.yaml"

_FIXED: tuple[tuple[type[Exception], grpc.StatusCode, str], ...] = (
    (LedgerAway, grpc.StatusCode.UNAVAILABLE, "the ledger does not answer"),
    (StoreAway, grpc.StatusCode.UNAVAILABLE, "the database is away; nothing was changed"),
    (DecodeError, grpc.StatusCode.INVALID_ARGUMENT, "the request is no message of this method"),
    (NameTaken, grpc.StatusCode.ALREADY_EXISTS, "a live client key has this name"),
    (
        NodeKeyTaken,
        grpc.StatusCode.ALREADY_EXISTS,
        "this node has a live key: revoke it first (ktms admin nodes revoke-key NAME)",
    ),
    (UnknownTenant, grpc.StatusCode.NOT_FOUND, NO_TENANT),
    (TimeoutError, grpc.StatusCode.DEADLINE_EXCEEDED, "not done in time; it may or may not have taken effect"),
)


def fitting(lines: list[str]) -> str:
    """Join as many lines as a status can carry; the rest is counted. Bytes beyond ASCII travel as three each."""
    kept: list[str] = []
    room = DETAILS_MAX_BYTES
    for line in lines:
        shown = line if len(line) <= LINE_MAX else line[:LINE_MAX] + "…"
        room -= sum(1 if 0x20 <= byte < 0x7F else 3 for byte in shown.encode()) + 3  # and a line end
        if room < 0:
            return "\n".join([*kept, f"and {len(lines) - len(kept)} more"])
        kept.append(shown)
    return "\n".join(kept)


LINE_MAX = 300
"""One complaint is a sentence."""
