"""What a world is to be: fleet, catalogue, knobs, workload and fault plan, as plain values drawn from a seed.

A draft is all that a world depends on besides its seed, so a failure is shrunk by editing the draft alone.
"""

from dataclasses import dataclass, field
from enum import Enum, StrEnum

from sim.faults.plan import Plan

MODEL = "public-model"
"""The model that calls ask for unless they say otherwise."""

VENDOR_MODEL = "vendor-model-2026-01-01"
"""What targets call it; never equal to a public name, so a leak of it shows."""


def vendor_model_of(model: str) -> str:
    """Give what targets call a model."""
    return VENDOR_MODEL if model == MODEL else f"vendor-{model}-2026-01-01"


class Level(Enum):
    """How much of the way is bytes."""

    PORTS = 1  # doors and ports; no HTTP, no connections
    WIRE = 2  # HTTP and RESP bytes over the simulated network


class Engine(StrEnum):
    """The dialects of the fake nodes."""

    OLLAMA = "ollama"
    VLLM = "vllm"
    LLAMA_CPP = "llama_cpp"
    AGENT = "agent"
    TGI = "tgi"


@dataclass(frozen=True, slots=True)
class VendorDraft:
    """One cloud vendor. Latencies are medians in seconds; shares of its answers are 5xx (error) and 429 (busy)."""

    name: str
    azure: bool = False
    first_token_s: float = 0.3
    token_s: float = 0.02
    error_share: float = 0.0
    busy_share: float = 0.0
    keys: int = 1
    gives_usage: bool = True
    serves: tuple[str, ...] = (MODEL,)


@dataclass(frozen=True, slots=True)
class NodeDraft:
    """One machine of ours."""

    name: str
    engine: Engine = Engine.VLLM
    slots: int = 4
    real_slots: int | None = None  # what it has in truth; None: what was declared
    slots_told: int | None = None  # what an agent says that it has; None: the truth
    window: int | None = 8192
    first_token_s: float = 0.2
    token_s: float = 0.03
    prefill_token_s: float = 0.0  # per token of the prompt, before the first one of the answer
    serves: tuple[str, ...] = (MODEL,)
    joins: bool = False  # it is declared nowhere: calls go there once its agent has announced it


@dataclass(frozen=True, slots=True)
class AgentDraft:
    """The agent of a machine, which announces it again and again under the name of a node.

    `started_s`: when it started, from the beginning of the world: its epoch. `machine` is a node of the draft too.
    """

    machine: str
    node: str
    at_s: float = 0.0
    started_s: float = 0.0
    gateway: int = 0
    every_s: float = 30.0


class Manner(StrEnum):
    """How a client takes its answer."""

    READS = "to the end"
    LEAVES_BEFORE = "closes the connection after `after` seconds, whatever has come"
    LEAVES_MIDWAY = "closes the connection after `after` events"
    VANISHES = "is gone without a FIN after `after` events"
    STALLS = "stops reading after `after` events, for good"
    SLOW = "pauses `after` seconds after every event"
    RETRIES = "asks again, up to `after` times, when it got an error or no answer"


@dataclass(frozen=True, slots=True)
class CallDraft:
    """One call of a client. `key` names a client key of the draft, `stranger` one nobody made."""

    at_s: float
    key: str = "app"
    gateway: int = 0
    model: str = MODEL
    streamed: bool = True
    usage_asked: bool = False
    tokens: int = 20
    prompt_words: int = 10
    placement: str | None = None
    route: str = "chat"  # chat, completions, embeddings
    manner: Manner = Manner.READS
    after: float = 0.0
    once: bool = False  # sent with an Idempotency-Key: it counts on a repeat not being paid twice


@dataclass(frozen=True, slots=True)
class KeyDraft:
    """One client key."""

    name: str
    placements: tuple[str, ...] = ()  # allowed ones; empty: all
    interactive: bool = False


@dataclass(frozen=True, slots=True)
class ChainDraft:
    """A chain: models in order per tier; the first tier is that of calls which name none."""

    name: str
    tiers: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Knobs:
    """Settings of the gateways and of chance. `noise` is the share of task steps that are delayed a little."""

    noise: float = 0.2
    key_window_s: float = 300.0
    reverify_s: float = 5.0
    refresh_poll_s: float = 5.0
    call_total_s: float = 660.0
    hold_status_s: float = 10.0
    keepalive_comment_s: float = 15.0
    client_stall_s: float = 60.0
    drain_delay_s: float = 5.0
    shutdown_s: float = 30.0
    idle_s: float = 45.0  # between chunks, at every target
    first_token_s: float = 60.0  # at every target
    wall_offset_s: float = 0.0  # of each replica, from the true time; the n-th has n times as much
    drift: float = 0.0  # of each replica's wall clock, as a share; the n-th has n times as much
    window_bytes: float = 256 * 1024  # of every connection: under way or unread at the peer
    client_slice_bytes: int = 0  # the largest piece in which requests reach a gateway; 0: as they were written
    poll_s: float = 10.0  # how often an operator asks each replica for its readiness
    sample_s: float = 7.0  # how often it is noted what gateways hold, and what the store of leases counts


@dataclass(frozen=True, slots=True)
class Draft:
    """A whole world. `runs_s`: how long faults and calls may come; then all is healed and must converge."""

    level: Level = Level.WIRE
    replicas: int = 1
    vendors: tuple[VendorDraft, ...] = (VendorDraft("cloud-a"), VendorDraft("cloud-b"))
    nodes: tuple[NodeDraft, ...] = ()
    agents: tuple[AgentDraft, ...] = ()
    keys: tuple[KeyDraft, ...] = (KeyDraft("app"),)
    placement: str | None = None
    attempts_max: int = 6
    redis: bool = True
    epoch_open: bool = True  # False: what the replicas share was lost just before the world begins
    queue_timeout_ms: int = 2000
    round_robin: bool = False
    band: float = 1.25
    chains: tuple[ChainDraft, ...] = ()
    knobs: Knobs = field(default_factory=Knobs)
    calls: tuple[CallDraft, ...] = ()
    faults: Plan = ()
    runs_s: float = 60.0
