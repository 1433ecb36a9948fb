"""Catalogues for end-to-end cases: a model on one or more mock vendors or nodes, and a key that may use it."""

from dataclasses import replace

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
from tests.world.events import VENDOR_MODEL
from tests.world.ground import Listening

KEY = make_key(KeyKind.CLIENT, lambda count: bytes(range(count)))
"""A client key of the right form, the same in every run."""

MODEL = "public-model"
VENDOR_SECRET = "sk-canary-vendor-credential-0123456789"


def vendor(name: str, url: str, *, timeouts: TimeoutSpec | None = None, keys: int = 1) -> VendorSpec:
    """Declare a mock vendor (`MockVendor.url`) as a private OpenAI-compatible one."""
    secrets = tuple(Secret(f"{VENDOR_SECRET}-{name}-{index}") for index in range(keys))
    return VendorSpec(
        name,
        VendorKind.OPENAI,
        url,
        keys=secrets,
        private=True,
        timeouts=timeouts or TimeoutSpec(),
    )


def node(
    name: str,
    listening: Listening,
    *,
    slots: int = 4,
    engine: EngineKind = EngineKind.VLLM,
    window: int | None = None,
) -> NodeSpec:
    """Declare a mock vendor as a bare engine of our own."""
    models = (NodeModelSpec(VENDOR_MODEL, context_window=window),)
    return NodeSpec(name, listening.url, models, engine=engine, slots=slots)


def catalogue(
    *vendors: VendorSpec,
    nodes: tuple[NodeSpec, ...] = (),
    policy: PolicySpec | None = None,
    timeouts: TimeoutSpec | None = None,
) -> Catalogue:
    """Declare MODEL on the nodes, then on the vendors in order, open to KEY."""
    local = (TargetSpec(LOCAL, VENDOR_MODEL),) if nodes else ()
    targets = (*local, *(TargetSpec(one.name, VENDOR_MODEL) for one in vendors))
    model = ModelSpec(MODEL, targets, aliases=("default",), timeouts=timeouts or TimeoutSpec())
    return Catalogue(
        vendors=vendors,
        models=(model,),
        nodes=nodes,
        tenants=(TenantSpec(DEFAULT_TENANT),),
        client_keys=(ClientKeySpec("app", DEFAULT_TENANT, secret=Secret(KEY)),),
        policy=policy or PolicySpec(),
    )


def with_models(base: Catalogue, *models: ModelSpec) -> Catalogue:
    """Add models to a catalogue."""
    return replace(base, models=(*base.models, *models))
