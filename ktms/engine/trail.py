"""What happened to one call so far: the facts its headers, its access line and its usage events are made of.

One mutable record per call, written by the engine alone, read by `settle.py`. No content.
"""

from dataclasses import dataclass, field

from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.pricing import NO_PRICES, PriceTable
from ktms.domain.access.rate_headers import RateHeaders
from ktms.domain.conversation.usage import NO_USAGE, Usage
from ktms.domain.ids import NodeName, VendorName
from ktms.domain.routing.choose import Decision
from ktms.domain.snapshot import Model
from ktms.engine.call import Call, Headers
from ktms.engine.relay import ClientStream
from ktms.ports.telemetry import AttemptRecord


@dataclass(slots=True)
class Trail:
    """Times are monotonic seconds; durations seconds. `asking_since` is set while a target is being asked.

    `forecast_s` is what the wait for a slot was expected to take, where there was one. `prices` are those of the
    snapshot that the call was placed with; `used_tokens` and `used_picos` sum up what all attempts used, which is
    what limits are settled with. `uncounted`: a limit could not be counted when the call began; `redis_hung`: it
    paid its one timeout for that, so nodes are not asked about (FR8). `rates` are the headers about limits.
    `usage` is that of the last attempt; `cache` is what the answer cache did, None where nobody wants it;
    `replayed`: the answer is that of an earlier call under the same Idempotency-Key.
    """

    call: Call
    key: ClientKey | None = None
    decision: Decision | None = None
    model: Model | None = None
    vendor: VendorName | None = None
    node: NodeName | None = None
    attempts: list[AttemptRecord] = field(default_factory=list)
    asking_since: float | None = None
    upstream_s: float = 0.0
    queue_s: float = 0.0
    forecast_s: float | None = None
    first_token_at: float | None = None
    upstream_id: str | None = None
    stream: ClientStream | None = None
    cancelled: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prices: PriceTable = NO_PRICES
    used_tokens: int = 0
    used_picos: int = 0
    uncounted: bool = False
    redis_hung: bool = False
    rates: RateHeaders = ()
    usage: Usage = NO_USAGE
    cache: str | None = None
    replayed: bool = False

    def note(self, vendor: VendorName, node: NodeName | None, result: str) -> None:
        """Add one line to the story of attempts; `result` is one short word."""
        self.attempts.append(AttemptRecord(vendor, node, result))

    def story(self) -> str:
        """Tell the attempts as `X-KTMS-Attempts` does: `local/mac-1:busy, openai:ok`."""
        return ", ".join(_told(attempt) for attempt in self.attempts)

    def headers(self, now: float, *, answering: bool | None = None) -> Headers:
        """Give what every answer carries: what was decided and how long it took.

        `answering`: the attempt under way has begun to answer, so it counts as one that did; False: nobody has
        begun, though the headers must go out, so nobody is named as who served; None: all is over.
        """
        story = self.story()
        upstream_s = self.upstream_s
        if self.asking_since is not None:
            upstream_s += now - self.asking_since
        if answering:
            assert self.vendor is not None
            current = _told(AttemptRecord(self.vendor, self.node, "ok"))
            story = f"{story}, {current}" if story else current
        total_ms = (now - self.call.received_at) * 1000
        upstream_ms = upstream_s * 1000
        queue_ms = self.queue_s * 1000
        gateway_ms = max(0.0, total_ms - upstream_ms - queue_ms)
        found: list[tuple[str, str]] = [("X-Request-Id", self.call.request_id)]
        if self.model is not None and answering is not False:
            found.append(("X-KTMS-Model", self.model.name))
        decision = self.decision
        if decision is not None:
            if decision.chain is not None:
                found.append(("X-KTMS-Chain", decision.chain))
            found.append(("X-KTMS-Placement", decision.placement.value))
        if self.vendor is not None and answering is not False:
            found.append(("X-KTMS-Vendor", self.vendor))
        if self.node is not None and answering is not False:
            found.append(("X-KTMS-Node", self.node))
        if story:
            found.append(("X-KTMS-Attempts", story))
        found.append(("X-KTMS-Cache", self.cache or "off"))
        found += self.rates
        if self.upstream_id is not None and answering is not False:
            found.append(("X-KTMS-Upstream-Id", self.upstream_id))
        found.append(
            (
                "Server-Timing",
                f"gateway;dur={gateway_ms:.2f}, queue;dur={queue_ms:.2f}, upstream;dur={upstream_ms:.2f}",
            )
        )
        return tuple(found)


def _told(attempt: AttemptRecord) -> str:
    if attempt.node is None:
        return f"{attempt.vendor}:{attempt.result}"
    return f"{attempt.vendor}/{attempt.node}:{attempt.result}"
