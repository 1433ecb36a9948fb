"""What compiles but is probably not meant: told once at start and by the doctor, never a reason to refuse."""

from collections.abc import Iterator

from ktms.domain.capacity.serving import with_tag
from ktms.domain.catalogue import Catalogue, EngineKind, ModelSpec
from ktms.domain.ids import LOCAL


def warnings(catalogue: Catalogue) -> tuple[str, ...]:
    """Say what an operator should look at; each text is one line and names the entry."""
    return (
        *_vendors(catalogue),
        *_models(catalogue),
        *_nodes(catalogue),
        *_not_enforced(catalogue),
    )


def _vendors(catalogue: Catalogue) -> Iterator[str]:
    for vendor in catalogue.vendors:
        if not vendor.keys and not vendor.private:
            yield f"vendor {vendor.name}: no key is given; unless one is stored, its calls will be refused"
        if vendor.keys and vendor.base_url.lower().startswith("http:") and not vendor.private:
            yield f"vendor {vendor.name}: its keys travel unencrypted; use https"
        if vendor.region is None and _regions_matter(catalogue):
            yield f"vendor {vendor.name}: has no region, so calls limited to regions never use it"


def _models(catalogue: Catalogue) -> Iterator[str]:
    priced = {(price.vendor, price.model) for price in catalogue.prices}
    for model in catalogue.models:
        for target in model.targets:
            if target.vendor != LOCAL and (target.vendor, target.model) not in priced:
                yield f"model {model.name}: target {target.vendor}/{target.model} has no price, its use costs 0"
            if target.vendor == LOCAL and not _served(catalogue, target.model):
                yield f"model {model.name}: no enabled node serves {target.model}"
        if _mixed_weights(model):
            yield f"model {model.name}: targets without a weight come after all those with one"


def _served(catalogue: Catalogue, name: str) -> bool:
    wanted = with_tag(name)
    return any(with_tag(model.name) == wanted for node in catalogue.nodes if node.enabled for model in node.models)


def _mixed_weights(model: ModelSpec) -> bool:
    weighted = {target.weight is not None for target in model.targets if target.vendor != LOCAL}
    return len(weighted) > 1


def _nodes(catalogue: Catalogue) -> Iterator[str]:
    dialled: dict[str, str] = {}
    for node in catalogue.nodes:
        if not node.models and node.engine is not EngineKind.AGENT:
            yield f"node {node.name}: serves no model, so it is never chosen"
        if node.region is None and _regions_matter(catalogue):
            yield f"node {node.name}: has no region, so calls limited to regions never use it"
        url = node.url.rstrip("/").lower()
        if url in dialled:
            yield f"node {node.name}: has the URL of node {dialled[url]}; the slots of both add up on one machine"
        dialled.setdefault(url, node.name)


def _regions_matter(catalogue: Catalogue) -> bool:
    return bool(
        catalogue.policy.allowed_regions
        or any(model.allowed_regions for model in catalogue.models)
        or any(key.allowed_regions for key in catalogue.client_keys)
    )


def _not_enforced(catalogue: Catalogue) -> Iterator[str]:
    for tenant in catalogue.tenants:
        if tenant.limits.any:
            yield f"tenant {tenant.name}: limits are stored but not enforced yet"
    for key in catalogue.client_keys:
        if key.limits.any:
            yield f"client key {key.name}: limits are stored but not enforced yet"
    for model in catalogue.models:
        if model.cache_ttl_s:
            yield f"model {model.name}: cache is stored but not in use yet"
