"""What compiles but is probably not meant: told once at start and by the doctor, never a reason to refuse."""

from collections.abc import Iterator, Sequence

from ktms.domain.capacity.serving import with_tag
from ktms.domain.catalogue import Catalogue, EngineKind, ModelSpec, NodeSpec, TargetSpec
from ktms.domain.ids import LOCAL
from ktms.domain.price_form import priced_model


def warnings(catalogue: Catalogue, others: Sequence[NodeSpec] = ()) -> tuple[str, ...]:
    """Say what an operator should look at; each text is one line and names the entry.

    `others` are nodes that this catalogue does not declare: stored beside it, or announced by themselves.
    """
    return (
        *_vendors(catalogue),
        *_models(catalogue, (*catalogue.nodes, *others)),
        *_nodes(catalogue),
        *_prices(catalogue, (*catalogue.nodes, *others)),
    )


def unpriced(catalogue: Catalogue, nodes: Sequence[NodeSpec]) -> Iterator[tuple[str, str, str]]:
    """Give model, vendor and the vendor's name of each cloud target that costs 0 because nobody gave its price."""
    priced = {(price.vendor, price.model) for price in catalogue.prices}
    for model in catalogue.models:
        for vendor, name in _in_the_cloud(model, nodes):
            if (vendor, name) not in priced:
                yield model.name, vendor, name


def _vendors(catalogue: Catalogue) -> Iterator[str]:
    for vendor in catalogue.vendors:
        if not vendor.keys and not vendor.private:
            yield f"vendor {vendor.name}: no key is given; unless one is stored, its calls will be refused"
        if vendor.keys and vendor.base_url.lower().startswith("http:") and not vendor.private:
            yield f"vendor {vendor.name}: its keys travel unencrypted; use https"
        if vendor.region is None and _regions_matter(catalogue):
            yield f"vendor {vendor.name}: has no region, so calls limited to regions never use it"


def _models(catalogue: Catalogue, nodes: Sequence[NodeSpec]) -> Iterator[str]:
    without_price: dict[str, list[str]] = {}
    for asked, vendor, name in unpriced(catalogue, nodes):
        without_price.setdefault(asked, []).append(f"{vendor}/{name}")
    for model in catalogue.models:
        for shown in without_price.get(model.name, ()):
            yield f"model {model.name}: target {shown} has no price, its use costs 0"
        for target in model.targets:
            if target.vendor == LOCAL and not _served(nodes, target.model):
                yield f"model {model.name}: no enabled node serves {target.model} yet; one that announces it will"
        if _mixed_weights(model):
            yield f"model {model.name}: targets without a weight come after all those with one"


def _in_the_cloud(model: ModelSpec, nodes: Sequence[NodeSpec]) -> Iterator[tuple[str, str]]:
    """Give the model's cloud targets, those too that a node of its has stand in (`cloud_model`); each once."""
    clouds = [target for target in model.targets if target.vendor != LOCAL]
    own = {with_tag(target.model) for target in model.targets if target.vendor == LOCAL}
    serving = (node for node in nodes if any(with_tag(each.name) in own for each in node.models))
    names = [node.cloud_model for node in serving if node.cloud_model is not None]
    stand_ins = [(target.vendor, name) for name in names for target in clouds]
    yield from dict.fromkeys([*((target.vendor, target.model) for target in clouds), *stand_ins])


def _served(nodes: Sequence[NodeSpec], name: str) -> bool:
    wanted = with_tag(name)
    return any(with_tag(model.name) == wanted for node in nodes if node.enabled for model in node.models)


def _mixed_weights(model: ModelSpec) -> bool:
    weighted = {target.weight is not None for target in model.targets if target.vendor != LOCAL}
    return len(weighted) > 1


def _nodes(catalogue: Catalogue) -> Iterator[str]:
    dialled: dict[str, str] = {}
    for node in catalogue.nodes:
        if not node.enabled:
            continue
        if not node.models and node.engine is not EngineKind.AGENT:
            yield f"node {node.name}: serves no model, so it is never chosen"
        if node.region is None and _regions_matter(catalogue):
            yield f"node {node.name}: has no region, so calls limited to regions never use it"
        url = node.url.rstrip("/").lower()
        if url in dialled:
            yield f"node {node.name}: has the URL of node {dialled[url]}; the slots of both add up on one machine"
        dialled.setdefault(url, node.name)


def _prices(catalogue: Catalogue, nodes: Sequence[NodeSpec]) -> Iterator[str]:
    """Name prices of what nobody is asked for; that of a node's model is the price of its electricity."""
    asked = {(target.vendor, priced_model(target.vendor, target.model)) for target in _targets(catalogue)}
    asked.update((LOCAL, with_tag(model.name)) for node in nodes for model in node.models)
    stand_ins = {node.cloud_model for node in nodes}
    told: set[tuple[str, str]] = set()
    for price in catalogue.prices:
        target = (price.vendor, priced_model(price.vendor, price.model))
        stands_in = price.vendor != LOCAL and price.model in stand_ins
        if target not in asked and not stands_in and target not in told:
            yield f"price {price.vendor}/{price.model}: no model names this target, so nothing is charged by it"
        told.add(target)


def _targets(catalogue: Catalogue) -> Iterator[TargetSpec]:
    for model in catalogue.models:
        yield from model.targets


def _regions_matter(catalogue: Catalogue) -> bool:
    return bool(
        catalogue.policy.allowed_regions
        or any(model.allowed_regions for model in catalogue.models)
        or any(key.allowed_regions for key in catalogue.client_keys)
    )
