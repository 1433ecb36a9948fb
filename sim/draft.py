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


class Habit(StrEnum):
    """What a machine may do besides its dialect; each was met in the wild (the cases N15 to N26 of the tests)."""

    DEAF_WHILE_BUSY = "it answers no look while it writes an answer"
    EMBEDS_ALONE = "it refuses whatever is no embedding"
    SHARES_WINDOW = "all its slots have one window together, and all answers die when that is full"
    REFUSES_LONG = "an Ollama that cannot shorten prompts: it refuses those that do not fit"
    OLD_METRICS = "a vLLM that calls its cache by the older name in its metrics"
    TELLS_BUSY = "its list says how many answers it writes, as an agent's does in front of it"
    HEEDS_OPTIONS = "it loads its model anew where a body asks for another window, or for none to be kept"


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
    real_window: int | None = None  # what it has in truth; None: what was declared
    first_token_s: float = 0.2
    token_s: float = 0.03
    prefill_token_s: float = 0.0  # per token of the prompt, before the first one of the answer
    serves: tuple[str, ...] = (MODEL,)
    joins: bool = False  # it is declared nowhere: calls go there once its agent has announced it
    habits: tuple[Habit, ...] = ()
    elsewhere: tuple[int, ...] = ()  # of each engine behind its address: calls that run there past all gateways
    gauge_lag_s: float = 0.0  # how far its metrics trail behind what it does


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
    draining: bool = False  # it says that it takes nothing new
    by_address: bool = False  # it says its address, not its name


class Manner(StrEnum):
    """How a client takes its answer."""

    READS = "to the end"
    LEAVES_BEFORE = "closes the connection after `after` seconds, whatever has come"
    LEAVES_MIDWAY = "closes the connection after `after` events"
    VANISHES = "is gone without a FIN after `after` events"
    STALLS = "stops reading after `after` events, for good"
    SLOW = "pauses `after` seconds after every event"
    RETURNS = "asks again at the moment that a refusal names, up to `after` times; after two minutes it does not"
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
    word: str = ""  # the Idempotency-Key itself, where several calls have the same; empty: one of its own
    question: str = ""  # calls of one question have the same body; empty: one of its own
    more: tuple[tuple[str, object], ...] = ()  # members of its body besides
    path: str = ""  # its request target, where that is not the one of its route


@dataclass(frozen=True, slots=True)
class BatchDraft:
    """One batch of a client, which polls it at all replicas in turn until it has ended.

    `tokens` are those of each answer; `cancels_after_s`: then it is cancelled. Its file is sent at `at_s`, and
    it is made then or at `makes_at_s`.
    """

    at_s: float
    lines: int
    makes_at_s: float = 0.0
    key: str = "app"
    model: str = MODEL
    tokens: int = 20
    placement: str | None = None
    poll_s: float = 5.0
    cancels_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class LimitsDraft:
    """What a key or the team may use; None: no limit. Rates are per minute, dollars are micro-dollars."""

    rpm: int | None = None
    tpm: int | None = None
    concurrent: int | None = None
    day: int | None = None
    month: int | None = None


@dataclass(frozen=True, slots=True)
class PriceDraft:
    """What a vendor charges for each model, or what `local` costs: micro-dollars per token."""

    vendor: str
    input: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True)
class KeyDraft:
    """One client key. `closed`: it is refused where its dollars cannot be counted."""

    name: str
    placements: tuple[str, ...] = ()  # allowed ones; empty: all
    interactive: bool = False
    limits: LimitsDraft = LimitsDraft()
    closed: bool = False


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
    loop_look_s: float = 1.0  # how often a gateway looks how late its loop is; production: ten times as often
    inflight_max: int = 4096  # calls at once, of each gateway
    poll_s: float = 10.0  # how often an operator asks each replica for its readiness
    usage_events_max: int = 10_000  # that a replica without a spool folder holds for the ledger
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
    team: LimitsDraft = LimitsDraft()  # of all keys together
    dollars_closed: bool = False  # every key is
    prices: tuple[PriceDraft, ...] = ()
    placement: str | None = None
    attempts_max: int = 6
    redis: bool = True
    spool: bool = False  # each replica has a folder for usage events, which outlives its processes
    saved: bool = False  # each replica has a file for its snapshot, which outlives its processes
    epoch_open: bool = True  # False: what the replicas share was lost just before the world begins
    queue_timeout_ms: int = 2000
    cache_ttl_s: int = 0  # so long answers are kept to be given again
    round_robin: bool = False
    band: float = 1.25
    chains: tuple[ChainDraft, ...] = ()
    knobs: Knobs = field(default_factory=Knobs)
    calls: tuple[CallDraft, ...] = ()
    batches: tuple[BatchDraft, ...] = ()
    faults: Plan = ()
    runs_s: float = 60.0
