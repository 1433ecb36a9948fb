"""The catalogue: what the operator declared, before anything is compiled from it.

Plain values, one per entry of `gateway.yaml`, the same whether they come from the file, the admin API or Postgres.
Secrets are `Secret` or absent (None means "keep the stored one"). Cross-references are names; `catalogue_rules.py`
checks them, `snapshot.py` resolves them, `catalogue_diff.py` compares two of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from ktms.domain.access.limits import UNLIMITED, Limits
from ktms.domain.access.secret import Secret
from ktms.domain.placement import Placement


class VendorKind(StrEnum):
    """Which API a vendor speaks. `openai` is any OpenAI-compatible one."""

    OPENAI = "openai"
    AZURE_OPENAI = "azure_openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


class EngineKind(StrEnum):
    """What serves a node's models. `agent` is our own agent in front of any engine."""

    AGENT = "agent"
    OLLAMA = "ollama"
    VLLM = "vllm"
    TGI = "tgi"
    LLAMACPP = "llamacpp"
    DEMO = "demo"


class Selection(StrEnum):
    """How a node is chosen among equals."""

    WEIGHTED = "weighted"
    ROUND_ROBIN = "round_robin"


class DollarLimitMode(StrEnum):
    """What a dollar limit does while it cannot be counted."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class TimeoutSpec:
    """Timers in seconds; None means the default of the kind of target (routing: `timers.py`)."""

    connect_s: float | None = None
    first_token_s: float | None = None
    idle_s: float | None = None
    total_s: float | None = None


@dataclass(frozen=True, slots=True)
class VendorSpec:
    """A company's API. `keys` is empty to keep what is stored, else it replaces all stored keys."""

    name: str
    kind: VendorKind
    base_url: str
    region: str | None = None
    keys: tuple[Secret, ...] = ()
    timeouts: TimeoutSpec = TimeoutSpec()
    headers: Mapping[str, str] = field(default_factory=dict)
    private: bool = False


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """One place where a model is served. `weight` None: tried in file order; a number: shares the traffic."""

    vendor: str
    model: str
    weight: int | None = None


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A public model. `allowed_regions` None means no restriction of its own."""

    name: str
    targets: tuple[TargetSpec, ...]
    aliases: tuple[str, ...] = ()
    context_window: int | None = None
    queue_timeout_ms: int = 2000
    placement: Placement | None = None
    placement_lock: bool = False
    selection: Selection = Selection.WEIGHTED
    cache_ttl_s: int = 0
    allowed_regions: tuple[str, ...] | None = None
    timeouts: TimeoutSpec = TimeoutSpec()


@dataclass(frozen=True, slots=True)
class ChainSpec:
    """Models in the order tried, per tier. `default_tier` names the tier used when a client names none."""

    name: str
    tiers: Mapping[str, tuple[str, ...]]
    default_tier: str


@dataclass(frozen=True, slots=True)
class NodeModelSpec:
    """One model on one node, by the engine's name; `context_window` in tokens per slot, None = unknown."""

    name: str
    context_window: int | None = None


ANY_CERTIFICATE = "any"
"""Takes whatever a node shows: what is said stays unread on the way, and nobody knows to whom it is said."""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A machine of ours: an agent, or a bare engine. `base_weight` None means `slots`.

    `certificate` is for TLS that no authority has signed: the certificate's SHA-256 in hex, or ANY_CERTIFICATE.
    """

    name: str
    url: str
    models: tuple[NodeModelSpec, ...]
    engine: EngineKind = EngineKind.AGENT
    token: Secret | None = None
    region: str | None = None
    enabled: bool = True
    slots: int = 1
    base_weight: int | None = None
    cloud_model: str | None = None
    certificate: str | None = None

    @property
    def draining(self) -> bool:
        """Whether its agent has announced that it takes nothing new; that is never declared."""
        return False


@dataclass(frozen=True, slots=True)
class PriceSpec:
    """Dollars per million tokens, exact. `valid_from` is wall seconds since 1970; None: from always on."""

    vendor: str
    model: str
    input: Decimal = Decimal(0)
    cached_input: Decimal | None = None
    cache_write: Decimal | None = None
    output: Decimal = Decimal(0)
    valid_from: float | None = None


@dataclass(frozen=True, slots=True)
class TenantSpec:
    """A team; its limits bind all of its keys together."""

    name: str
    limits: Limits = UNLIMITED
    dollar_limit_mode: DollarLimitMode | None = None


@dataclass(frozen=True, slots=True)
class ClientKeySpec:
    """A client key. `models` or `placements` None: all. `secret` None: made once, or kept if stored."""

    name: str
    tenant: str
    models: tuple[str, ...] | None = None
    placements: tuple[Placement, ...] | None = None
    allowed_regions: tuple[str, ...] | None = None
    placement: Placement | None = None
    placement_lock: bool = False
    tier: str | None = None
    interactive: bool = False
    limits: Limits = UNLIMITED
    dollar_limit_mode: DollarLimitMode | None = None
    cache_ttl_s: int = 0  # 0: as the model says
    expires_at: float | None = None  # wall seconds since 1970, UTC
    secret: Secret | None = None


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """Settings of the whole gateway. `allowed_regions` empty means no restriction."""

    placement: Placement = Placement.NODES_FIRST
    placement_lock: bool = False
    force_cloud: bool = False
    allowed_regions: tuple[str, ...] = ()
    band: float = 1.25
    attempts_max: int = 6


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything the operator declared; order inside each tuple is the file's order."""

    vendors: tuple[VendorSpec, ...] = ()
    models: tuple[ModelSpec, ...] = ()
    chains: tuple[ChainSpec, ...] = ()
    nodes: tuple[NodeSpec, ...] = ()
    prices: tuple[PriceSpec, ...] = ()
    tenants: tuple[TenantSpec, ...] = ()
    client_keys: tuple[ClientKeySpec, ...] = ()
    policy: PolicySpec = PolicySpec()


DEFAULT_TENANT = "default"
"""Exists from the first migration on; keys created without a tenant belong to it."""
