"""Differences between two catalogues, and one catalogue laid over another.

Entries are matched by name. A secret that is absent keeps the stored one, so it is no difference; a given one is
a difference unless it is known to be the same. Values are never shown: a change names fields only. The stored
catalogue may come with or without its secrets.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from ktms.domain.catalogue import (
    DEFAULT_TENANT,
    Catalogue,
    ChainSpec,
    ClientKeySpec,
    ModelSpec,
    NodeSpec,
    PriceSpec,
    TenantSpec,
    VendorSpec,
)
from ktms.domain.price_form import price_name


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: what happens to one entry. `fields` names what changed, never a secret's value."""

    action: str  # add, change, remove
    kind: str  # vendor, model, chain, node, price, tenant, client_key, policy
    name: str
    fields: tuple[str, ...] = ()


Spec = VendorSpec | ModelSpec | ChainSpec | NodeSpec | PriceSpec | TenantSpec | ClientKeySpec
S = TypeVar("S", bound=Spec)

_SECRETS = frozenset({"keys", "token", "secret"})
"""Fields that hold secrets, in whichever entry they stand."""


def diff(stored: Catalogue, wanted: Catalogue, *, prune: bool) -> tuple[Change, ...]:
    """List what applying `wanted` would do; with `prune`, stored entries that are not wanted are removed."""
    return (
        *_section("tenant", stored.tenants, wanted.tenants, prune=prune),
        *_section("vendor", stored.vendors, wanted.vendors, prune=prune),
        *_section("node", stored.nodes, wanted.nodes, prune=prune),
        *_section("model", stored.models, wanted.models, prune=prune),
        *_section("chain", stored.chains, wanted.chains, prune=prune),
        *_section("price", stored.prices, wanted.prices, prune=prune),
        *_section("client_key", stored.client_keys, wanted.client_keys, prune=prune),
        *_policy(stored, wanted),
    )


def merge(stored: Catalogue, wanted: Catalogue, *, prune: bool) -> Catalogue:
    """Give the catalogue that holds after applying: wanted entries first, then stored ones that stay.

    Secrets that `wanted` does not give are taken from `stored` where it has them. The policy is replaced as a
    whole.
    """
    return Catalogue(
        vendors=_merged(stored.vendors, wanted.vendors, prune=prune),
        models=_merged(stored.models, wanted.models, prune=prune),
        chains=_merged(stored.chains, wanted.chains, prune=prune),
        nodes=_merged(stored.nodes, wanted.nodes, prune=prune),
        prices=_merged(stored.prices, wanted.prices, prune=prune),
        tenants=_merged(stored.tenants, wanted.tenants, prune=prune),
        client_keys=_merged(stored.client_keys, wanted.client_keys, prune=prune),
        policy=wanted.policy,
    )


def entry_name(entry: Spec) -> str:
    """What tells an entry apart inside its section: its name, or vendor, model and beginning of a price."""
    return price_name(entry) if isinstance(entry, PriceSpec) else entry.name


def _section(kind: str, stored: Sequence[S], wanted: Sequence[S], *, prune: bool) -> Iterator[Change]:
    before = _by_name(stored)
    for entry in wanted:
        known = before.get(entry_name(entry))
        if known is None:
            yield Change("add", kind, entry_name(entry))
        elif changed := _changed_fields(known, entry):
            yield Change("change", kind, entry_name(entry), changed)
    if prune:
        after = _by_name(wanted)
        for name, entry in before.items():
            if name not in after and not _stays(entry):
                yield Change("remove", kind, name)


def _policy(stored: Catalogue, wanted: Catalogue) -> Iterator[Change]:
    before, after = stored.policy, wanted.policy
    names = (setting.name for setting in fields(after))
    changed = tuple(name for name in names if getattr(before, name) != getattr(after, name))
    if changed:
        yield Change("change", "policy", "policy", changed)


def _changed_fields(before: Spec, after: Spec) -> tuple[str, ...]:
    assert type(before) is type(after), "entries of one section have one type"
    names = (part.name for part in fields(after))
    return tuple(name for name in names if _differs(name, getattr(before, name), getattr(after, name)))


def _differs(name: str, before: object, after: object) -> bool:
    if name in _SECRETS and not after:
        return False  # not given: the stored one is kept
    return before != after


def _merged(stored: Sequence[S], wanted: Sequence[S], *, prune: bool) -> tuple[S, ...]:
    before = _by_name(stored)
    after = _by_name(wanted)
    kept = [entry for name, entry in before.items() if name not in after and (not prune or _stays(entry))]
    return (*[_with_secrets(before.get(entry_name(entry)), entry) for entry in wanted], *kept)


def _with_secrets(known: S | None, entry: S) -> S:
    if known is None:
        return entry
    absent = (part.name for part in fields(entry) if part.name in _SECRETS and not getattr(entry, part.name))
    return replace(entry, **{name: getattr(known, name) for name in absent})


def _by_name(entries: Sequence[S]) -> Mapping[str, S]:
    return {entry_name(entry): entry for entry in entries}


def _stays(entry: Spec) -> bool:
    return isinstance(entry, TenantSpec) and entry.name == DEFAULT_TENANT
