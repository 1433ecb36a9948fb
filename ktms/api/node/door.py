"""The node door: agents of own machines say where they are and what they serve.

Rules: nothing of a body is parsed before the key was found good; the key names the node, so an agent speaks for no
other; a fault of ours is 5xx and never 401; each wait has a bound. Not here: what an announcement may say
(`domain/announcement.py`), what becomes of it (`ports/node_registry.py`).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ktms.api.body import BodyLimits, read_body, refuse_encoding
from ktms.api.inbound import Inbound
from ktms.api.node.address import AddressRefusal, address_refused
from ktms.api.node.headers import NodeHeaders, read_headers
from ktms.api.node.said import read_said, wrong
from ktms.api.node.verification import Verification
from ktms.api.routes import Routes, refusal
from ktms.api.wire import Dates, Headers, Reply, whole
from ktms.dialects.json import as_json
from ktms.domain.access.key_form import same_digest
from ktms.domain.announce_rate import AnnounceRate
from ktms.domain.announcement import ANNOUNCE_EVERY_S, Announcement, announcement_complaints, epoch_complaint
from ktms.domain.errors import CallFailed, ErrorCode, Problem, problem
from ktms.domain.ids import KeyId, NodeName
from ktms.domain.joined_node import NodeKey
from ktms.domain.units import whole_seconds_up
from ktms.domain.url import read_url
from ktms.engine.ids import Identities
from ktms.ports.catalogue import StoreAway
from ktms.ports.clock import Clock
from ktms.ports.node_registry import Announced, NodeKeyGone, NodeRegistry, NodeVerifier, StaleAnnouncement
from ktms.ports.telemetry import Dependency, Telemetry

BODY_MAX_BYTES = 64 * 1024
"""256 models with long names fill a third of it."""

BODY_TOTAL_S = 10.0
"""An announcement is a packet or two."""

AT_ONCE_MAX = 8
"""Announcements that may ask the database at the same time: calls of clients need its connections more."""

WAITING_MAX = 256
"""Announcements that wait their turn, as after a restart of a large fleet; beyond it one is told to come back."""

RETRY_AFTER_S = 5.0
"""Well within the time after which an agent announces anyway."""

_UNKNOWN_KEY = problem(ErrorCode.INVALID_API_KEY, "No valid node key: send Authorization: Bearer ktms_node_….")
_AWAY = problem(
    ErrorCode.AUTH_UNAVAILABLE, "The database is away; the node is as it was.", retry_after_s=RETRY_AFTER_S
)
_BUSY = problem(ErrorCode.OVERLOADED, "Too many nodes announce at once.", retry_after_s=RETRY_AFTER_S)
_STALE = problem(
    ErrorCode.STALE_ANNOUNCEMENT,
    "An agent that started later announces under this name: stop one; if this is the later, its clock is behind.",
    param="epoch",
)


class NodeDoor:
    """Serves the announcements. `address_refusal` judges an address as the dialler will."""

    def __init__(
        self,
        registry: NodeRegistry,
        verifier: NodeVerifier,
        address_refusal: AddressRefusal,
        *,
        identities: Identities,
        clock: Clock,
        dates: Dates,
        telemetry: Telemetry,
    ) -> None:
        self._registry = registry
        self._verification = Verification(verifier)
        self._address_refusal = address_refusal
        self._identities = identities
        self._clock = clock
        self._dates = dates
        self._telemetry = telemetry
        self._rate = AnnounceRate()
        self._fenced_rate = AnnounceRate()  # an agent that no longer counts uses up nothing of the one that does
        self._turns = asyncio.Semaphore(AT_ONCE_MAX)
        self._waiting = 0
        self._limits = BodyLimits(max_bytes=BODY_MAX_BYTES, total_s=BODY_TOTAL_S)

    def routes(self) -> Routes:
        """Give the routes of this door."""
        return {"/node/v1/announce": {"PUT": self._announce}}

    async def _announce(self, request: Inbound) -> Reply:
        told: Headers = (("X-Request-Id", self._identities.request()),)
        try:
            verify = _wants_verify(request.raw_path)
            headers = read_headers(request.raw_headers)
            key = await self._admit(headers)
            said = await self._read(request, headers, key)
            announced = await self._take(key, said)
        except CallFailed as failure:
            return self._refuse(request, told, failure.problem)
        answer: dict[str, object] = {
            "node": key.permit.name,
            "accepted": announced.accepted,
            "ignored": announced.ignored,
            "announce_every_s": ANNOUNCE_EVERY_S,
        }
        if verify:
            reason = await self._verification.reason(announced.served)
            answer |= {"verified": reason is None, "reason": reason}
        return whole(request, self._dates, 200, as_json(answer), headers=told)

    async def _admit(self, headers: NodeHeaders) -> NodeKey:
        """Find the node that speaks."""
        shown = headers.key
        if shown is None:
            raise CallFailed(_UNKNOWN_KEY)
        async with self._turn("find_node_key"):
            key = await self._registry.find(shown.id)
        if key is None or not same_digest(key.digest, shown.digest):
            raise CallFailed(_UNKNOWN_KEY)
        return key

    async def _read(self, request: Inbound, headers: NodeHeaders, key: NodeKey) -> Announcement:
        """Read the announcement and judge it, within the rate of whoever says it."""
        try:
            refuse_encoding(headers.encoding)
            said = read_said(await read_body(request, self._limits, expects=headers.expects))
        except CallFailed:
            self._count(self._rate, key)
            raise
        if key.fences_off(said):
            self._count(self._fenced_rate, key)
            raise self._stale(key)
        self._count(self._rate, key)
        self._judge(said)
        return said

    def _count(self, rate: AnnounceRate, key: NodeKey) -> None:
        wait_s = rate.wait_s(NodeName(key.permit.name), self._clock.monotonic())
        if wait_s > 0:
            message = "This node announces too often."
            raise CallFailed(problem(ErrorCode.RATE_LIMIT_EXCEEDED, message, retry_after_s=wait_s))

    def _judge(self, said: Announcement) -> None:
        """Tell the first thing that is wrong."""
        complaint = next(announcement_complaints(said), None)
        complaint = complaint or epoch_complaint(said, self._clock.wall() * 1000)
        if complaint is not None:
            raise wrong(".".join(map(str, complaint.path)), complaint.message)
        refused = address_refused(read_url(said.url), self._address_refusal)
        if refused is not None:
            raise wrong("url", f"{refused}; see KTMS_NODE_ALLOWED_CIDRS")

    async def _take(self, key: NodeKey, said: Announcement) -> Announced:
        try:
            async with self._turn("announce"):
                announced = await self._registry.announce(KeyId(key.id), said)
        except NodeKeyGone as error:
            raise CallFailed(_UNKNOWN_KEY) from error
        except StaleAnnouncement as error:
            raise self._stale(key) from error
        if announced.version is not None:
            self._telemetry.event("info", "node_announced", node=key.permit.name, version=announced.version)
        return announced

    def _stale(self, key: NodeKey) -> CallFailed:
        self._telemetry.event("warning", "node_announcement_stale", node=key.permit.name)
        return CallFailed(_STALE)

    @asynccontextmanager
    async def _turn(self, operation: str) -> AsyncIterator[None]:
        """Ask the database when it is our turn; tell what went wrong in words for an agent."""
        if self._waiting >= WAITING_MAX:
            raise CallFailed(_BUSY)
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        except StoreAway as error:
            self._telemetry.dependency_failed(Dependency.POSTGRES, operation, "away")
            raise CallFailed(_AWAY) from error
        finally:
            self._turns.release()

    def _refuse(self, request: Inbound, told: Headers, cause: Problem) -> Reply:
        if cause.retry_after_s is not None:
            told = (*told, ("Retry-After", str(whole_seconds_up(cause.retry_after_s))))
        unread = not request.content.is_eof()
        return refusal(request, self._dates, cause, headers=told, keeps=False if unread else None)


def _wants_verify(target: str) -> bool:
    """Read the query, of which one parameter is known.

    Raises:
        CallFailed: 400 for any other.
    """
    query = target.partition("?")[2]
    if query in {"", "verify=0"}:
        return False
    if query == "verify=1":
        return True
    raise CallFailed(problem(ErrorCode.INVALID_REQUEST, "The query is verify=1 or nothing.", param="verify"))
