"""Making a call and looking at all that came of it: the answer, the record, the usage events, the leases."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ktms.domain.access.usage_event import AttemptStatus, UsageEvent
from ktms.domain.catalogue import TimeoutSpec
from ktms.domain.routing.outcome import BUSY_WORD
from ktms.ports.telemetry import CallRecord
from tests.cases.forms import Form, StreamForm
from tests.world.catalogues import KEY, MODEL, catalogue, node, vendor
from tests.world.client import RawClient, post
from tests.world.events import VENDOR_MODEL, Json
from tests.world.http_message import MessageHead
from tests.world.sse_text import Event
from tests.world.vendor import MockVendor
from tests.world.watch import PATIENCE_S
from tests.world.world import GatewayUnderTest, World

NOT_DIALLED = frozenset({"busy", "cold", "down", "draining", "none", "open", "resting", "unfit", "unknown"})
"""Words of the attempts' story for targets that were passed over; a node may have said `busy` itself."""

UPSTREAM = "upstream"


class Kind(Enum):
    """What stands behind the model: a vendor in the cloud, or a node of ours."""

    CLOUD = "cloud"
    NODE = "node"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Reply:
    """Everything a client got. `events` has comments too; `whole` says that the body ended as its framing says."""

    head: MessageHead
    events: tuple[Event, ...]
    body: bytes
    whole: bool

    @property
    def status(self) -> int:
        return self.head.status

    @property
    def retry_after(self) -> str | None:
        return self.head.header("retry-after")

    @property
    def attempts(self) -> str | None:
        return self.head.header("x-ktms-attempts")

    @property
    def data(self) -> tuple[Event, ...]:
        """Events without comments."""
        return tuple(event for event in self.events if not event.is_comment)

    @property
    def chunks(self) -> tuple[dict[str, Any], ...]:
        """Events that are chunks: neither comments, nor the end mark, nor an error."""
        parsed = (event.json() for event in self.data if not event.is_done)
        return tuple(chunk for chunk in parsed if "error" not in chunk)

    @property
    def is_done(self) -> bool:
        """Whether the last event is the end mark."""
        return bool(self.events) and self.events[-1].is_done

    @property
    def error(self) -> dict[str, Any]:
        """The error: of the body, or of the last event of a stream, which has no end mark then."""
        text = self.events[-1].data if self.events else self.body
        assert text is not None, "the last event is a comment"
        assert not any(event.is_done for event in self.events), "an error and an end mark"
        found = json.loads(text)["error"]
        assert isinstance(found, dict)
        assert set(found) == {"message", "type", "param", "code"}
        return found

    def text(self, form: StreamForm) -> str:
        """Join the text of all chunks."""
        return "".join(form.said(chunk) for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class Booked:
    """What was written down about one call."""

    record: CallRecord
    events: tuple[UsageEvent, ...]

    @property
    def event(self) -> UsageEvent:
        """The usage event of the only attempt."""
        assert len(self.events) == 1
        return self.events[0]

    @property
    def statuses(self) -> tuple[AttemptStatus, ...]:
        return tuple(event.status for event in self.events)

    @property
    def words(self) -> tuple[str, ...]:
        """How each attempt ended, in the words of the story."""
        return tuple(attempt.result for attempt in self.record.attempts)


async def one_upstream(
    world: World, kind: Kind = Kind.CLOUD, *, timeouts: TimeoutSpec | None = None, **settings: object
) -> tuple[MockVendor, GatewayUnderTest]:
    """Start a gateway whose model has one target."""
    upstream = await world.vendor(UPSTREAM)
    if kind is Kind.CLOUD:
        made = catalogue(vendor(UPSTREAM, upstream.url), timeouts=timeouts)
    else:
        made = catalogue(nodes=(node(UPSTREAM, upstream.listening),), timeouts=timeouts)
    return upstream, await world.gateway(made, **settings)


async def two_vendors(
    world: World, *, timeouts: TimeoutSpec | None = None, **settings: object
) -> tuple[MockVendor, MockVendor, GatewayUnderTest]:
    """Start a gateway whose model has two targets, in this order."""
    first, second = await world.vendor("first"), await world.vendor("second")
    made = catalogue(vendor("first", first.url, timeouts=timeouts), vendor("second", second.url))
    return first, second, await world.gateway(made, **settings)


async def ask(
    world: World,
    gateway: GatewayUnderTest,
    form: Form,
    *,
    headers: tuple[tuple[str, str], ...] = (),
    key: str = KEY,
    **fields: Json,
) -> RawClient:
    """Send a call from a client of its own."""
    client = await world.client(gateway)
    body: Mapping[str, object] = {**form.fields, **fields}
    client.send(post(form.target, body, key=key, headers=headers))
    return client


async def reply(client: RawClient, *, within_s: float = PATIENCE_S) -> Reply:
    """Read an answer to its end; `within_s` bounds the wait for each part of it."""
    head = await client.head(within_s)
    events = [event async for event in client.events(within_s)]
    left, whole = client.unfinished_event, client.is_over
    body = await client.body(within_s)
    if events:
        assert left == b"", left
    return Reply(head, tuple(events), body, whole)


async def call(
    world: World,
    gateway: GatewayUnderTest,
    form: Form,
    *,
    headers: tuple[tuple[str, str], ...] = (),
    key: str = KEY,
    within_s: float = PATIENCE_S,
    **fields: Json,
) -> Reply:
    """Make a call and read its answer to the end."""
    return await reply(await ask(world, gateway, form, headers=headers, key=key, **fields), within_s=within_s)


async def booked(gateway: GatewayUnderTest, index: int = 0, *, within_s: float = PATIENCE_S) -> Booked:
    """Give what was written down about the call of this index: one usage event per target dialled, no more."""
    record = await gateway.telemetry.record(index, within_s)
    events = tuple(event for event in gateway.ledger.events if event.request_id == record.request_id)
    said_busy = {(event.vendor, event.node) for event in events if event.node is not None}
    dialled = [
        attempt
        for attempt in record.attempts
        if attempt.result not in NOT_DIALLED
        or (attempt.result == BUSY_WORD and (attempt.vendor, attempt.node) in said_busy)
    ]
    assert [(event.vendor, event.node) for event in events] == [(a.vendor, a.node) for a in dialled]
    assert len({event.id for event in gateway.ledger.events}) == len(gateway.ledger.events)
    assert gateway.telemetry.in_flight >= 0
    return Booked(record, events)


async def works_again(
    world: World, gateway: GatewayUnderTest, upstream: MockVendor, form: Form, *, key: str = KEY
) -> Reply:
    """Check that the next call is served well by this vendor and booked, and that it leaves no lease over."""
    known, held = len(gateway.telemetry.records), gateway.busy(UPSTREAM)
    upstream.script(*form.healthy())
    got = await call(world, gateway, form, key=key)
    assert got.status == 200, got.body
    assert got.whole
    later = await booked(gateway, known)
    assert later.statuses[-1] is AttemptStatus.OK
    assert later.events[-1].usage == form.counted
    assert gateway.busy(UPSTREAM) == held
    return got


def idle(gateway: GatewayUnderTest) -> None:
    """Check that no call is under way and no lease is held."""
    assert gateway.telemetry.in_flight == 0
    assert gateway.busy(UPSTREAM) == 0


def no_alarm(gateway: GatewayUnderTest) -> None:
    """Check that nothing was logged as an error and that no breaker moved."""
    assert [event for event in gateway.telemetry.events if event.level == "error"] == []
    assert [event.name for event in gateway.telemetry.events if event.name == "breaker_turned"] == []


def as_public(sent: bytes) -> bytes:
    """Give what the client is to see of a vendor's bytes: the same with the public name of the model."""
    return sent.replace(VENDOR_MODEL.encode(), MODEL.encode())
