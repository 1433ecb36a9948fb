"""The snapshot: one immutable, versioned, compiled form of the catalogue that a call reads from.

Compiled once (`compile_snapshot` in `routing/compile.py`), swapped whole; a catalogue that does not compile never
replaces a snapshot that did. All names are resolved, so a call follows references and looks nothing up twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ktms.domain.access.pricing import NO_PRICES, PriceTable
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, EngineKind, PolicySpec, Selection, TimeoutSpec, VendorKind
from ktms.domain.ids import ModelName, NodeName, Region, VendorKeyId, VendorModel, VendorName
from ktms.domain.placement import Placement


class Reach(Enum):
    """Which addresses may be dialled; the guard itself sits in the dialler, which sees every connection."""

    PUBLIC = "a cloud vendor: public addresses only"
    PRIVATE = "a vendor marked private: private and loopback ranges too"
    NODE = "a machine of ours: by the gateway's node rules"


OriginKey = tuple[str, str, int, str | None]
"""Scheme, host, port, certificate."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Where a connection goes. `base_path` has no trailing slash; pools and breakers are keyed by `key`.

    `certificate`: the SHA-256 of the only one that is accepted there, in hex, or ANY_CERTIFICATE; None: what the
    platform trusts.
    """

    scheme: str
    host: str
    port: int
    base_path: str
    reach: Reach
    certificate: str | None = None

    @property
    def key(self) -> OriginKey:
        """What makes two origins share connections."""
        return (self.scheme, self.host, self.port, self.certificate)


@dataclass(frozen=True, slots=True, eq=False)
class VendorKey:
    """One credential of a vendor."""

    id: VendorKeyId
    secret: Secret


@dataclass(frozen=True, slots=True, eq=False)
class Vendor:
    """A cloud vendor, ready to be dialled."""

    name: VendorName
    kind: VendorKind
    origin: Origin
    region: Region | None
    keys: tuple[VendorKey, ...]
    headers: tuple[tuple[str, str], ...]
    timeouts: TimeoutSpec


@dataclass(frozen=True, slots=True, eq=False)
class CloudTarget:
    """One model on one vendor. `id` is `vendor/vendor_model`, unique inside a snapshot."""

    id: str
    vendor: Vendor
    vendor_model: VendorModel
    weight: int | None
    timeouts: TimeoutSpec


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A machine of ours. `windows` maps the engine's model names to tokens per slot (None = unknown).

    `draining`: it has announced that it takes nothing new; it keeps its place, since it comes back.
    """

    name: NodeName
    origin: Origin
    engine: EngineKind
    token: Secret | None
    region: Region | None
    slots: int
    base_weight: int
    windows: Mapping[VendorModel, int | None]
    cloud_model: VendorModel | None
    draining: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class LocalTarget:
    """The vendor `local` for one model: `nodes` are the enabled ones that serve `vendor_model`, in file order.

    Those that drain are among them. `x` also matches `x:latest` (Ollama's default tag).
    """

    vendor_model: VendorModel
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A public model with its targets resolved, split by kind, each in file order.

    `stand_ins` has the cloud targets once more for each vendor model that a node of its names (`cloud_model`).
    """

    name: ModelName
    context_window: int | None
    queue_timeout_ms: int
    placement: Placement | None
    placement_lock: bool
    selection: Selection
    cache_ttl_s: int
    allowed_regions: frozenset[Region] | None
    timeouts: TimeoutSpec
    local: tuple[LocalTarget, ...]
    cloud: tuple[CloudTarget, ...]
    stand_ins: Mapping[VendorModel, tuple[CloudTarget, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Models in the order tried, per tier."""

    name: ModelName
    tiers: Mapping[str, tuple[Model, ...]]
    default_tier: str


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One version of everything. `names` holds every accepted exact name: models, aliases, chains.

    `catalogue` is what it was compiled from: a saved snapshot is compiled from that again.
    """

    version: int
    catalogue: Catalogue
    names: Mapping[str, Model | Chain]
    models: tuple[Model, ...]
    chains: tuple[Chain, ...]
    nodes: tuple[Node, ...]
    vendors: tuple[Vendor, ...]
    tiers: frozenset[str]
    policy: PolicySpec
    aliases: Mapping[str, ModelName] = field(default_factory=dict)
    prices: PriceTable = NO_PRICES
