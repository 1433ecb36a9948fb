"""A catalogue to route in: one own machine in France, one in the US, one vendor each there and here."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ktms.domain.access.client_key import ClientKey
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PolicySpec,
    TargetSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.ids import KeyId, TenantName
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.snapshot import Snapshot

MakeSnapshot = Callable[..., Snapshot]
MakeKey = Callable[..., ClientKey]

CATALOGUE = Catalogue(
    vendors=(
        VendorSpec("us-cloud", VendorKind.OPENAI, "https://api.us.example/v1", region="us"),
        VendorSpec("fr-cloud", VendorKind.OPENAI, "https://api.fr.example/v1", region="fr"),
    ),
    nodes=(
        NodeSpec(
            "mac-fr", "http://10.0.0.1:8790", (NodeModelSpec("small", 8192), NodeModelSpec("big")), region="fr"
        ),
        NodeSpec("mac-us", "http://10.0.0.2:8790", (NodeModelSpec("small", 4096),), region="us"),
        NodeSpec("mac-off", "http://10.0.0.3:8790", (NodeModelSpec("small"),), enabled=False),
    ),
    models=(
        ModelSpec(
            "small",
            (TargetSpec("local", "small"), TargetSpec("us-cloud", "mini"), TargetSpec("fr-cloud", "petit")),
            aliases=("default",),
        ),
        ModelSpec("big", (TargetSpec("local", "big"), TargetSpec("us-cloud", "maxi")), context_window=32_768),
        ModelSpec("cloudy", (TargetSpec("us-cloud", "vapour"),)),
        ModelSpec("homely", (TargetSpec("local", "small"),)),
        ModelSpec("empty", (TargetSpec("local", "nowhere"),)),
    ),
    chains=(ChainSpec("auto", {"medium": ("small",), "high": ("big", "small")}, "medium"),),
)


@pytest.fixture(scope="session")
def snapshot_of() -> MakeSnapshot:
    """Compile the catalogue; settings of the policy, and changes to models by name, may be given."""

    def make(models: dict[str, dict[str, Any]] | None = None, /, **policy: Any) -> Snapshot:
        changed = tuple(replace(model, **(models or {}).get(model.name, {})) for model in CATALOGUE.models)
        return compile_snapshot(replace(CATALOGUE, models=changed, policy=PolicySpec(**policy)), version=1)

    return make


@pytest.fixture(scope="session")
def key_of() -> MakeKey:
    """Make a client key with some rights."""

    def make(**rights: Any) -> ClientKey:
        return ClientKey(KeyId("0123456789"), bytes(32), "app-1", TenantName("default"), **rights)

    return make
