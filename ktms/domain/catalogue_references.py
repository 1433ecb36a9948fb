"""Rules between catalogue entries: names are unique, references lead somewhere, suffixes stay readable.

Decided here: a public name may end in a suffix word (`x:high`), because look-up is exact first; it may not if
what is left without the word is a public name too, because then nobody could tell `x` at tier high from
`x:high`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ktms.domain.capacity.serving import with_tag
from ktms.domain.catalogue import DEFAULT_TENANT, Catalogue, ChainSpec, ClientKeySpec, ModelSpec, TargetSpec
from ktms.domain.complaint import Complaint, Path, prefixed, repeated
from ktms.domain.ids import LOCAL
from ktms.domain.price_form import price_name, priced_model
from ktms.domain.suffix import split_suffix, tier_words


@dataclass(frozen=True, slots=True)
class _Index:
    """What references are looked up in."""

    vendors: frozenset[str]
    models: frozenset[str]  # names and aliases
    chains: frozenset[str]
    tenants: frozenset[str]
    tiers: frozenset[str]


def reference_complaints(catalogue: Catalogue) -> Iterator[Complaint]:
    """Find duplicate names, references to nothing and ambiguous names."""
    index = _index(catalogue)
    yield from _unique(catalogue)
    yield from _public_names(catalogue, index)
    for position, model in enumerate(catalogue.models):
        yield from prefixed(("models", position), _targets(model, index))
    for position, chain in enumerate(catalogue.chains):
        yield from prefixed(("chains", position), _chain(chain, index))
    for position, price in enumerate(catalogue.prices):
        if price.vendor not in index.vendors:
            yield Complaint(("prices", position, "vendor"), f"there is no vendor {price.vendor!r}")
    for position, key in enumerate(catalogue.client_keys):
        yield from prefixed(("client_keys", position), _client_key(key, index))


def _index(catalogue: Catalogue) -> _Index:
    models = {model.name for model in catalogue.models}
    models.update(alias for model in catalogue.models for alias in model.aliases)
    return _Index(
        vendors=frozenset({LOCAL, *(vendor.name for vendor in catalogue.vendors)}),
        models=frozenset(models),
        chains=frozenset(chain.name for chain in catalogue.chains),
        tenants=frozenset({DEFAULT_TENANT, *(tenant.name for tenant in catalogue.tenants)}),
        tiers=tier_words(chain.tiers for chain in catalogue.chains),
    )


def _unique(catalogue: Catalogue) -> Iterator[Complaint]:
    named: Mapping[str, tuple[str, ...]] = {
        "vendors": tuple(vendor.name for vendor in catalogue.vendors),
        "nodes": tuple(node.name for node in catalogue.nodes),
        "tenants": tuple(tenant.name for tenant in catalogue.tenants),
        "client_keys": tuple(key.name for key in catalogue.client_keys),
    }
    for section, names in named.items():
        for index in repeated(names):
            yield Complaint((section, index, "name"), f"{names[index]!r} was given before")
    prices = [replace(price, model=priced_model(price.vendor, price.model)) for price in catalogue.prices]
    for index in repeated([price_name(price) for price in prices]):
        yield Complaint(("prices", index), f"{price_name(catalogue.prices[index])!r} has a price already")
    for position, node in enumerate(catalogue.nodes):
        for index in repeated([with_tag(model.name) for model in node.models]):
            yield Complaint(("nodes", position, "models", index, "name"), "is served twice by this node")
    yield from _unique_secrets(catalogue)


def _unique_secrets(catalogue: Catalogue) -> Iterator[Complaint]:
    given = [(index, key.secret) for index, key in enumerate(catalogue.client_keys) if key.secret is not None]
    for place in repeated([secret.reveal() for _, secret in given]):
        yield Complaint(("client_keys", given[place][0], "secret"), "belongs to another client key already")


def _public_names(catalogue: Catalogue, index: _Index) -> Iterator[Complaint]:
    places: list[tuple[Path, str]] = []
    for position, model in enumerate(catalogue.models):
        places.append((("models", position, "name"), model.name))
        places += [(("models", position, "aliases", at), alias) for at, alias in enumerate(model.aliases)]
    places += [(("chains", position, "name"), chain.name) for position, chain in enumerate(catalogue.chains)]
    for place in repeated([name for _, name in places]):
        at, name = places[place]
        yield Complaint(at, f"{name!r} is the name of a model, alias or chain already")
    known = index.models | index.chains
    for at, name in places:
        left = _shadowed(name, known, index.tiers)
        if left is not None:
            yield Complaint(at, f"{name!r} would also mean {left!r} with a suffix: choose another name")


def _shadowed(name: str, known: frozenset[str], tiers: frozenset[str]) -> str | None:
    return next((left for left, _ in split_suffix(name, tiers) if left in known), None)


def _targets(model: ModelSpec, index: _Index) -> Iterator[Complaint]:
    for place, target in enumerate(model.targets):
        if target.vendor not in index.vendors:
            yield Complaint(("targets", place, "vendor"), f"there is no vendor {target.vendor!r}")
        elif target.vendor == LOCAL and target.weight is not None:
            yield Complaint(
                ("targets", place, "weight"), "means nothing for local: give nodes a base_weight instead"
            )
    for place in repeated([_asked(target) for target in model.targets]):
        yield Complaint(("targets", place), "is the same target as one before")


def _asked(target: TargetSpec) -> str:
    """Name what is asked; of our machines `x` and `x:latest` are one."""
    return f"{target.vendor}/{with_tag(target.model) if target.vendor == LOCAL else target.model}"


def _chain(chain: ChainSpec, index: _Index) -> Iterator[Complaint]:
    for tier, models in chain.tiers.items():
        for place, name in enumerate(models):
            if name in index.chains:
                yield Complaint(("tiers", tier, place), f"{name!r} is a chain: a chain holds models only")
            elif name not in index.models:
                yield Complaint(("tiers", tier, place), f"there is no model {name!r}")
        for place in repeated(models):
            yield Complaint(("tiers", tier, place), f"{models[place]!r} stands twice in this tier")


def _client_key(key: ClientKeySpec, index: _Index) -> Iterator[Complaint]:
    if key.tenant not in index.tenants:
        yield Complaint(("tenant",), f"there is no tenant {key.tenant!r}")
    for place, name in enumerate(key.models or ()):
        if name not in index.models and name not in index.chains:
            yield Complaint(("models", place), f"there is no model, alias or chain {name!r}")
    if key.tier is not None and key.tier not in index.tiers:
        yield Complaint(("tier",), f"no chain has a tier {key.tier!r}")
