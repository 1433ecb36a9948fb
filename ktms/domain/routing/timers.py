"""How long each phase of an attempt may take, for nodes and for the cloud.

Defaults are those of the routing documentation; a vendor's and then a model's own settings replace them.
"""

from dataclasses import dataclass

from ktms.domain.capacity.speed import Speed
from ktms.domain.catalogue import TimeoutSpec
from ktms.domain.snapshot import CloudTarget, Model


@dataclass(frozen=True, slots=True)
class Timers:
    """Seconds, one per phase; each restarts nothing of another.

    `first_token_s` runs from the moment the request is sent until the sink says FLOWING (streams) or the response
    head is there (all others). `idle_s` runs between two reads after that. `total_s` bounds the whole exchange.
    """

    pool_s: float
    connect_s: float
    first_token_s: float
    idle_s: float
    total_s: float


DEFAULT_MAX_TOKENS = 1024
"""Assumed length of an answer where the client set no limit."""

CLOUD_POOL_S = 2.0
CLOUD_CONNECT_S = 5.0
CLOUD_FIRST_TOKEN_S = 60.0
CLOUD_HEAD_S = 300.0
"""A non-streamed answer's head comes after the whole generation, and a vendor's speed is not known."""
CLOUD_IDLE_S = 45.0

NODE_POOL_S = 1.0
NODE_CONNECT_S = 1.0
NODE_FIRST_TOKEN_UNKNOWN_S = 30.0
NODE_FIRST_TOKEN_MAX_S = 120.0
NODE_HEAD_MAX_S = 600.0
NODE_IDLE_S = 30.0
NODE_GRACE_S = 10.0
"""What a node gets beyond its computed time: scheduling, a busy machine, a slow disk."""

SLOWEST_DECODE_TOKENS_PER_S = 5.0
"""Assumed of a node whose speed is not known: slower ones are of no use to an interactive client."""

TOTAL_S = 600.0


def overridden(defaults: TimeoutSpec, own: TimeoutSpec) -> TimeoutSpec:
    """Lay one set of timers over another: what `own` does not say stays as in `defaults`."""
    return TimeoutSpec(
        connect_s=own.connect_s if own.connect_s is not None else defaults.connect_s,
        first_token_s=own.first_token_s if own.first_token_s is not None else defaults.first_token_s,
        idle_s=own.idle_s if own.idle_s is not None else defaults.idle_s,
        total_s=own.total_s if own.total_s is not None else defaults.total_s,
    )


def cloud_timers(target: CloudTarget, model: Model, *, streamed: bool) -> Timers:
    """Give the timers of one attempt at a vendor; the vendor's own settings and then the model's win."""
    spec = overridden(target.timeouts, model.timeouts)
    first_token_s = CLOUD_FIRST_TOKEN_S if streamed else CLOUD_HEAD_S
    return _timers(spec, CLOUD_POOL_S, CLOUD_CONNECT_S, first_token_s, CLOUD_IDLE_S)


def node_timers(
    model: Model,
    *,
    streamed: bool,
    max_tokens: int | None,
    speed: Speed | None = None,
    uncached_tokens: int = 0,
) -> Timers:
    """Give the timers of one attempt at a node; the model's settings win over what its speed would say.

    `uncached_tokens` is the part of the prompt that the node has to read; it counts only where `speed` is known.
    """
    written = DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens
    first_token_s = (
        _node_first_token_s(speed, uncached_tokens) if streamed else _node_head_s(speed, uncached_tokens, written)
    )
    return _timers(model.timeouts, NODE_POOL_S, NODE_CONNECT_S, first_token_s, NODE_IDLE_S)


def _node_first_token_s(speed: Speed | None, uncached_tokens: int) -> float:
    if speed is None:
        return NODE_FIRST_TOKEN_UNKNOWN_S
    return min(4 * uncached_tokens / speed.prefill_tokens_per_s + NODE_GRACE_S, NODE_FIRST_TOKEN_MAX_S)


def _node_head_s(speed: Speed | None, uncached_tokens: int, written_tokens: int) -> float:
    if speed is None:
        reading_s, decode = NODE_FIRST_TOKEN_UNKNOWN_S, SLOWEST_DECODE_TOKENS_PER_S
    else:
        reading_s = NODE_GRACE_S + 4 * uncached_tokens / speed.prefill_tokens_per_s
        decode = speed.decode_tokens_per_s
    return min(reading_s + 2 * written_tokens / decode, NODE_HEAD_MAX_S)


def _timers(spec: TimeoutSpec, pool_s: float, connect_s: float, first_token_s: float, idle_s: float) -> Timers:
    total_s = TOTAL_S if spec.total_s is None else spec.total_s
    return Timers(
        pool_s=pool_s,
        connect_s=connect_s if spec.connect_s is None else spec.connect_s,
        first_token_s=min(first_token_s if spec.first_token_s is None else spec.first_token_s, total_s),
        idle_s=idle_s if spec.idle_s is None else spec.idle_s,
        total_s=total_s,
    )
