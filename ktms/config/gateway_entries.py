"""The shape of `gateway.yaml` version 1: names, types and defaults, field by field.

A public contract of 1.x: fields may be added, never renamed or removed. The JSON Schema is made from these classes
(`schema.py`), so their docstrings and descriptions are what an editor shows.
Not here: reading YAML (`yaml_tree.py`), errors with places (`gateway_file.py`), the domain's values
(`gateway_catalogue.py`).
"""

from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from ktms.domain.catalogue import DEFAULT_TENANT, DollarLimitMode, EngineKind, Selection, VendorKind
from ktms.domain.placement import Placement

Dollars = Annotated[Decimal, Meta(description='Dollars, exact, best written in quotes: "0.15".')]
Name = Annotated[str, Meta(min_length=1)]
Seconds = Annotated[float, Meta(gt=0)]
Band = Annotated[float, Meta(ge=1, description="At least 1; .inf switches the rule off.")]
Weight = Annotated[int, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]
Quantity = Annotated[int, Meta(ge=0)]


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Refuses fields it does not know."""


class SecretSource(Entry, frozen=True):
    """Where a secret comes from: exactly one of env, file, value."""

    env: Annotated[str, Meta(description="Name of an environment variable, read where the command runs.")] = ""
    file: Annotated[str, Meta(description="Path of a file, relative to this one.")] = ""
    value: Annotated[str, Meta(description="The secret itself; env or file keep it out of the file.")] = ""


class TimeoutsEntry(Entry, frozen=True):
    """Timers in seconds; what is left out follows the kind of target."""

    connect_s: Seconds | None = None
    first_token_s: Seconds | None = None
    idle_s: Seconds | None = None
    total_s: Seconds | None = None


class VendorEntry(Entry, frozen=True):
    """A company's API."""

    name: Name
    kind: VendorKind
    base_url: Name
    region: str | None = None
    keys: Annotated[list[SecretSource], Meta(description="Replaces all stored keys; left out, they are kept.")] = (
        field(default_factory=list)
    )
    timeouts: TimeoutsEntry = field(default_factory=TimeoutsEntry)
    headers: dict[str, str] = field(default_factory=dict)
    private: Annotated[bool, Meta(description="Allow a base_url in a private or loopback range.")] = False


class TargetEntry(Entry, frozen=True):
    """One place where a model is served: vendor `local` for own nodes, or a vendor of this file."""

    vendor: Name
    model: Annotated[str, Meta(min_length=1, description="The vendor's or engine's own name for the model.")]
    weight: Annotated[Weight | None, Meta(description="Left out: tried in order. Set: shares the traffic.")] = None


class CacheEntry(Entry, frozen=True):
    """The response cache; 0 seconds means off."""

    ttl_s: Quantity = 0


class ModelEntry(Entry, frozen=True):
    """A public model."""

    name: Name
    targets: list[TargetEntry] = field(default_factory=list)
    aliases: list[Name] = field(default_factory=list)
    context_window: Annotated[Count | None, Meta(description="Tokens.")] = None
    queue_timeout_ms: Quantity = 2000
    placement: Placement | None = None
    placement_lock: bool = False
    selection: Selection = Selection.WEIGHTED
    cache: CacheEntry = field(default_factory=CacheEntry)
    allowed_regions: list[str] | None = None
    timeouts: TimeoutsEntry = field(default_factory=TimeoutsEntry)


class ChainEntry(Entry, frozen=True):
    """Models in the order tried, per tier."""

    name: Name
    tiers: dict[str, list[Name]]
    default_tier: Name = "medium"


class NodeModelEntry(Entry, frozen=True):
    """One model on one node, by the engine's name for it."""

    name: Name
    context_window: Annotated[Count | None, Meta(description="Tokens per slot.")] = None


class NodeEntry(Entry, frozen=True):
    """A machine of our own: an agent, or a bare engine."""

    name: Name
    url: Name
    engine: EngineKind = EngineKind.AGENT
    token: SecretSource | None = None
    region: str | None = None
    enabled: bool = True
    slots: Count = 1
    base_weight: Annotated[Count | None, Meta(description="Left out: as slots.")] = None
    models: list[NodeModelEntry] = field(default_factory=list)
    cloud_model: str | None = None
    certificate: Annotated[
        str | None,
        Meta(description="Of TLS that no authority has signed: its SHA-256 in hex, or any. Left out: as signed."),
    ] = None


class PriceEntry(Entry, frozen=True):
    """Dollars per million tokens, at most 6 decimals; several of one target follow each other by `valid_from`.

    Vendor `local` and the model of a node: the price of its electricity.
    """

    vendor: Name
    model: Name
    input: Dollars = Decimal(0)
    cached_input: Annotated[Dollars | None, Meta(description="Left out: as input.")] = None
    cache_write: Annotated[Dollars | None, Meta(description="Left out: as input.")] = None
    output: Dollars = Decimal(0)
    valid_from: Annotated[
        str | None, Meta(description="A date or date and time, UTC, from which on it holds. Left out: always.")
    ] = None


class LimitsEntry(Entry, frozen=True):
    """What is left out is unlimited."""

    rpm: Annotated[Quantity | None, Meta(description="Requests per minute.")] = None
    tpm: Annotated[Quantity | None, Meta(description="Tokens per minute.")] = None
    concurrent: Annotated[Quantity | None, Meta(description="Requests at once.")] = None
    usd_per_day: Dollars | None = None
    usd_per_month: Dollars | None = None


class TenantEntry(Entry, frozen=True):
    """A team; its limits bind all of its keys together."""

    name: Name
    limits: LimitsEntry = field(default_factory=LimitsEntry)
    dollar_limit_mode: DollarLimitMode | None = None


class ClientKeyEntry(Entry, frozen=True):
    """A client key; without `secret` one is made and shown once, or the stored one is kept."""

    name: Name
    tenant: Name = DEFAULT_TENANT
    models: list[Name] | None = None
    placements: list[Placement] | None = None
    allowed_regions: list[str] | None = None
    placement: Placement | None = None
    placement_lock: bool = False
    tier: str | None = None
    interactive: bool = False
    limits: LimitsEntry = field(default_factory=LimitsEntry)
    dollar_limit_mode: DollarLimitMode | None = None
    cache_ttl_s: Annotated[Quantity, Meta(description="Keep its answers for so long; 0: as each model says.")] = 0
    expires_at: Annotated[str | None, Meta(description="A date or date and time, UTC: 2027-01-31T12:00:00Z.")] = (
        None
    )
    secret: SecretSource | None = None


class RetryEntry(Entry, frozen=True):
    """How often one call may be attempted in all."""

    attempts_max: Count = 6


class PolicyEntry(Entry, frozen=True):
    """Settings of the whole gateway."""

    placement: Placement = Placement.NODES_FIRST
    placement_lock: bool = False
    force_cloud: Annotated[bool, Meta(description="During an incident: everybody goes to the cloud.")] = False
    allowed_regions: list[str] = field(default_factory=list)
    band: Band = 1.25
    retry: RetryEntry = field(default_factory=RetryEntry)


class GatewayDocument(Entry, frozen=True):
    """Everything one gateway serves."""

    version: Literal[1]
    vendors: list[VendorEntry] = field(default_factory=list)
    models: list[ModelEntry] = field(default_factory=list)
    chains: list[ChainEntry] = field(default_factory=list)
    nodes: list[NodeEntry] = field(default_factory=list)
    prices: list[PriceEntry] = field(default_factory=list)
    tenants: list[TenantEntry] = field(default_factory=list)
    client_keys: list[ClientKeyEntry] = field(default_factory=list)
    policy: PolicyEntry = field(default_factory=PolicyEntry)
