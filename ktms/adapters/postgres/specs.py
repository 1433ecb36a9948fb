"""Catalogue entries as jsonb: what is stored of them beside their own columns, and back.

Secrets and whatever has a column (names, the tenant) are left out. Decimals are text; an infinite number, which
JSON cannot say, is the text "inf". Fields that this version does not know are ignored and missing ones take their
defaults, so versions that run together read each other's rows.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import msgspec

from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ClientKeySpec,
    ModelSpec,
    NodeSpec,
    PolicySpec,
    PriceSpec,
    TenantSpec,
    VendorSpec,
)
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.complaint import Complaint

Entry = VendorSpec | ModelSpec | ChainSpec | NodeSpec | PriceSpec | TenantSpec | ClientKeySpec | PolicySpec
E = TypeVar("E", VendorSpec, ModelSpec, ChainSpec, NodeSpec, PriceSpec, TenantSpec, ClientKeySpec, PolicySpec)

_SECRET_FIELDS = frozenset({"keys", "token", "secret"})
_COLUMNS = frozenset({"name", "tenant"})

SECTIONS: Mapping[type[Entry], str] = {
    VendorSpec: "vendors",
    ModelSpec: "models",
    ChainSpec: "chains",
    NodeSpec: "nodes",
    PriceSpec: "prices",
    TenantSpec: "tenants",
    ClientKeySpec: "client_keys",
    PolicySpec: "policy",
}
"""Where each kind stands in a catalogue, for complaints."""


def without_secrets(catalogue: Catalogue) -> Catalogue:
    """Give the catalogue as it may be shown."""
    return replace(
        catalogue,
        vendors=tuple(replace(vendor, keys=()) for vendor in catalogue.vendors),
        nodes=tuple(replace(node, token=None) for node in catalogue.nodes),
        client_keys=tuple(replace(key, secret=None) for key in catalogue.client_keys),
    )


def plain(entry: Entry) -> dict[str, object]:
    """Give an entry as plain JSON values, secrets left out."""
    bare: Entry
    match entry:
        case VendorSpec():
            bare = replace(entry, keys=())
        case NodeSpec():
            bare = replace(entry, token=None)
        case ClientKeySpec():
            bare = replace(entry, secret=None)
        case _:
            bare = entry
    values = msgspec.to_builtins(bare)
    return {
        name: "inf" if isinstance(value, float) and math.isinf(value) else value
        for name, value in values.items()
        if name not in _SECRET_FIELDS
    }


def encode(entry: Entry) -> str:
    """Give what the `spec` column holds of an entry."""
    kept = {name: value for name, value in plain(entry).items() if name not in _COLUMNS}
    return msgspec.json.encode(kept).decode()


def decode(kind: type[E], spec: str, **columns: str) -> E:
    """Give an entry back from its `spec` and its columns.

    Raises:
        CatalogueInvalid: what is stored is not such an entry.
    """
    try:
        values = msgspec.json.decode(spec, type=dict[str, object])
        return msgspec.convert({**values, **columns}, type=kind, strict=False)
    except msgspec.ValidationError as error:
        at = (SECTIONS[kind], *columns.values())
        raise CatalogueInvalid((Complaint(at, f"what is stored cannot be read: {error}"),)) from error
