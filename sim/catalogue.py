"""From a draft to the catalogue an operator would have declared: models, who serves them, chains and keys.

Hosts are called like their vendor or node; every credential has a marker in it, so that a leak shows.
"""

from dataclasses import dataclass
from decimal import Decimal

from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    DEFAULT_TENANT,
    Catalogue,
    ChainSpec,
    ClientKeySpec,
    DollarLimitMode,
    EngineKind,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PolicySpec,
    PriceSpec,
    Selection,
    TargetSpec,
    TenantSpec,
    TimeoutSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.ids import LOCAL
from ktms.domain.placement import Placement
from sim.draft import MODEL, Draft, Engine, KeyDraft, LimitsDraft, NodeDraft, VendorDraft, vendor_model_of
from sim.seed import Seed

TARGET_PORT = 8000

STRANGER = "stranger"
"""The name of a key that nobody made."""

ENGINES = {
    Engine.OLLAMA: EngineKind.OLLAMA,
    Engine.VLLM: EngineKind.VLLM,
    Engine.LLAMA_CPP: EngineKind.LLAMACPP,
    Engine.TGI: EngineKind.TGI,
    Engine.AGENT: EngineKind.AGENT,
}


@dataclass(frozen=True, slots=True)
class Tokens:
    """The client keys of a world, by name; the stranger's is well formed and unknown."""

    by_name: dict[str, str]

    def of(self, name: str) -> str:
        """Give the token of a key."""
        return self.by_name[name]


def tokens_of(draft: Draft, seed: Seed) -> Tokens:
    """Make the client keys of a draft."""
    names = [*(key.name for key in draft.keys), STRANGER]
    return Tokens({name: make_key(KeyKind.CLIENT, seed.chance(name).token_bytes) for name in names})


def vendor_secret(name: str, number: int) -> str:
    """Give a vendor's credential."""
    return f"sk-canary-{name}-{number}-credential"


def catalogue_of(draft: Draft, tokens: Tokens) -> Catalogue:
    """Declare everything the draft names."""
    serving = (*(node.serves for node in draft.nodes), *(vendor.serves for vendor in draft.vendors))
    served = dict.fromkeys((MODEL, *(name for names in serving for name in names)))
    return Catalogue(
        vendors=tuple(_vendor(vendor) for vendor in draft.vendors),
        models=tuple(_model(name, draft) for name in served),
        chains=tuple(ChainSpec(chain.name, dict(chain.tiers), chain.tiers[0][0]) for chain in draft.chains),
        nodes=tuple(_node(node) for node in draft.nodes if not node.joins),
        prices=tuple(
            PriceSpec(one.vendor, vendor_model_of(name), input=Decimal(one.input), output=Decimal(one.output))
            for one in draft.prices
            for name in served
        ),
        tenants=(TenantSpec(DEFAULT_TENANT, limits=_limits(draft.team)),),
        client_keys=tuple(_key(key, tokens) for key in draft.keys),
        policy=PolicySpec(
            placement=Placement(draft.placement) if draft.placement else Placement.NODES_FIRST,
            attempts_max=draft.attempts_max,
            band=draft.band,
        ),
    )


def _model(name: str, draft: Draft) -> ModelSpec:
    called = vendor_model_of(name)
    local = (TargetSpec(LOCAL, called),) if any(name in node.serves for node in draft.nodes) else ()
    return ModelSpec(
        name,
        (*local, *(TargetSpec(vendor.name, called) for vendor in draft.vendors if name in vendor.serves)),
        timeouts=TimeoutSpec(first_token_s=draft.knobs.first_token_s, idle_s=draft.knobs.idle_s),
        queue_timeout_ms=draft.queue_timeout_ms,
        cache_ttl_s=draft.cache_ttl_s,
        selection=Selection.ROUND_ROBIN if draft.round_robin else Selection.WEIGHTED,
    )


def _vendor(vendor: VendorDraft) -> VendorSpec:
    kind = VendorKind.AZURE_OPENAI if vendor.azure else VendorKind.OPENAI
    path = "/openai/v1" if vendor.azure else "/v1"
    return VendorSpec(
        vendor.name,
        kind,
        f"http://{vendor.name}:{TARGET_PORT}{path}",
        keys=tuple(Secret(vendor_secret(vendor.name, number)) for number in range(vendor.keys)),
        private=True,
    )


def _node(node: NodeDraft) -> NodeSpec:
    return NodeSpec(
        node.name,
        f"http://{node.name}:{TARGET_PORT}",
        tuple(NodeModelSpec(vendor_model_of(name), node.window) for name in node.serves),
        engine=ENGINES[node.engine],
        slots=node.slots,
    )


def _key(key: KeyDraft, tokens: Tokens) -> ClientKeySpec:
    allowed = tuple(Placement(name) for name in key.placements) or None
    default = allowed[0] if allowed else None
    return ClientKeySpec(
        key.name,
        DEFAULT_TENANT,
        placements=allowed,
        placement=default,
        interactive=key.interactive,
        limits=_limits(key.limits),
        dollar_limit_mode=DollarLimitMode.CLOSED if key.closed else None,
        secret=Secret(tokens.of(key.name)),
    )


def _limits(limits: LimitsDraft) -> Limits:
    return Limits(
        rpm=limits.rpm,
        tpm=limits.tpm,
        concurrent=limits.concurrent,
        usd_per_day_micros=limits.day,
        usd_per_month_micros=limits.month,
    )
