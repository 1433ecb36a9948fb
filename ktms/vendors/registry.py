"""Which shape belongs to which kind.

Vendor kinds without a shape do not compile (`SERVED_KINDS` in `domain/catalogue_entries.py`), so asking for one
here is our own mistake.
"""

from collections.abc import Mapping

from ktms.domain.catalogue import EngineKind, VendorKind
from ktms.vendors.agent import AGENT
from ktms.vendors.azure_openai import AZURE_OPENAI
from ktms.vendors.demo import DEMO
from ktms.vendors.llamacpp import LLAMACPP
from ktms.vendors.ollama import OLLAMA
from ktms.vendors.openai import OPENAI
from ktms.vendors.shape import Shape
from ktms.vendors.tgi import TGI
from ktms.vendors.vllm import VLLM

VENDORS: Mapping[VendorKind, Shape] = {
    VendorKind.OPENAI: OPENAI,
    VendorKind.AZURE_OPENAI: AZURE_OPENAI,
}

_NODES: Mapping[EngineKind, Shape] = {
    EngineKind.AGENT: AGENT,
    EngineKind.OLLAMA: OLLAMA,
    EngineKind.VLLM: VLLM,
    EngineKind.TGI: TGI,
    EngineKind.LLAMACPP: LLAMACPP,
    EngineKind.DEMO: DEMO,
}
assert set(_NODES) == set(EngineKind), "every engine has a shape"


def vendor_shape(kind: VendorKind) -> Shape:
    """Give the shape of a vendor kind that the snapshot compiler lets through."""
    assert kind in VENDORS, f"{kind.value} does not compile"
    return VENDORS[kind]


def node_shape(engine: EngineKind) -> Shape:
    """Give the shape of what serves a node."""
    return _NODES[engine]


def shape_of(kind: VendorKind | EngineKind) -> Shape:
    """Give the shape of either kind."""
    return vendor_shape(kind) if isinstance(kind, VendorKind) else node_shape(kind)
