"""From a draft to the catalogue an operator would have declared: one model on all nodes and vendors, and its keys.

Hosts are called like their vendor or node; every credential has a marker in it, so that a leak shows.
"""

from dataclasses import dataclass

from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    DEFAULT_TENANT,
    Catalogue,
    ClientKeySpec,
    EngineKind,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PolicySpec,
    TargetSpec,
    TenantSpec,
    TimeoutSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.ids import LOCAL
from ktms.domain.placement import Placement
from sim.draft import MODEL, VENDOR_MODEL, Draft, Engine, KeyDraft, NodeDraft, VendorDraft
from sim.seed import Seed

TARGET_PORT = 8000

STRANGER = "stranger"
"""The name of a key that nobody made."""

ENGINES = {
    Engine.OLLAMA: EngineKind.OLLAMA,
    Engine.VLLM: EngineKind.VLLM,
    Engine.LLAMA_CPP: EngineKind.LLAMACPP,
    Engine.TGI: EngineKind.TGI,
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
    local = (TargetSpec(LOCAL, VENDOR_MODEL),) if draft.nodes else ()
    targets = (*local, *(TargetSpec(vendor.name, VENDOR_MODEL) for vendor in draft.vendors))
    timers = TimeoutSpec(first_token_s=draft.knobs.first_token_s, idle_s=draft.knobs.idle_s)
    return Catalogue(
        vendors=tuple(_vendor(vendor) for vendor in draft.vendors),
        models=(ModelSpec(MODEL, targets, timeouts=timers),),
        nodes=tuple(_node(node) for node in draft.nodes),
        tenants=(TenantSpec(DEFAULT_TENANT),),
        client_keys=tuple(_key(key, tokens) for key in draft.keys),
        policy=PolicySpec(
            placement=Placement(draft.placement) if draft.placement else Placement.NODES_FIRST,
            attempts_max=draft.attempts_max,
        ),
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
        (NodeModelSpec(VENDOR_MODEL, node.window),),
        engine=ENGINES[node.engine],
        slots=node.slots,
    )


def _key(key: KeyDraft, tokens: Tokens) -> ClientKeySpec:
    allowed = tuple(Placement(name) for name in key.placements) or None
    default = allowed[0] if allowed else None
    return ClientKeySpec(
        key.name, DEFAULT_TENANT, placements=allowed, placement=default, secret=Secret(tokens.of(key.name))
    )
