"""From the catalogue to the snapshot: checked, names resolved, URLs read, once per version.

Rules: what has a complaint does not compile; the same catalogue always gives the same snapshot; nothing is
dialled or looked up. Not here: which rules a catalogue must keep (`catalogue_rules.py`).
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ktms.domain.capacity.serving import name_on
from ktms.domain.catalogue import Catalogue, ChainSpec, ModelSpec, NodeSpec, TimeoutSpec, VendorSpec
from ktms.domain.catalogue_rules import CatalogueInvalid, complaints
from ktms.domain.ids import LOCAL, ModelName, NodeName, Region, VendorKeyId, VendorModel, VendorName
from ktms.domain.price_compile import price_table
from ktms.domain.routing.timers import overridden
from ktms.domain.snapshot import (
    Chain,
    CloudTarget,
    LocalTarget,
    Model,
    Node,
    Origin,
    Reach,
    Snapshot,
    Vendor,
    VendorKey,
)
from ktms.domain.suffix import tier_words
from ktms.domain.url import read_url

NO_IDS: Mapping[str, tuple[VendorKeyId, ...]] = MappingProxyType({})


def compile_snapshot(
    catalogue: Catalogue, *, version: int, key_ids: Mapping[str, tuple[VendorKeyId, ...]] = NO_IDS
) -> Snapshot:
    """Compile a catalogue. `key_ids` gives the stored ids of a vendor's keys by vendor name, in their order.

    Raises:
        CatalogueInvalid: with all complaints; nothing half-compiled is left.
    """
    found = complaints(catalogue)
    if found:
        raise CatalogueInvalid(found)
    vendors = {vendor.name: _vendor(vendor, key_ids.get(vendor.name)) for vendor in catalogue.vendors}
    nodes = tuple(_node(node) for node in catalogue.nodes if node.enabled)
    models = tuple(_model(model, vendors, nodes) for model in catalogue.models)
    aliases = {alias: ModelName(model.name) for model in catalogue.models for alias in model.aliases}
    by_name = {str(model.name): model for model in models}
    by_name.update({alias: by_name[name] for alias, name in aliases.items()})
    chains = tuple(_chain(chain, by_name) for chain in catalogue.chains)
    return Snapshot(
        version=version,
        catalogue=catalogue,
        names=MappingProxyType({**by_name, **{chain.name: chain for chain in chains}}),
        models=models,
        chains=chains,
        nodes=nodes,
        vendors=tuple(vendors.values()),
        tiers=tier_words(chain.tiers for chain in catalogue.chains),
        policy=catalogue.policy,
        aliases=MappingProxyType(aliases),
        prices=price_table(catalogue.prices),
    )


def _vendor(vendor: VendorSpec, ids: tuple[VendorKeyId, ...] | None) -> Vendor:
    if ids is None:
        ids = tuple(VendorKeyId(f"{vendor.name}#{index}") for index in range(len(vendor.keys)))
    assert len(ids) == len(vendor.keys), f"vendor {vendor.name}: one id per key"
    return Vendor(
        name=VendorName(vendor.name),
        kind=vendor.kind,
        origin=_origin(vendor.base_url, Reach.PRIVATE if vendor.private else Reach.PUBLIC),
        region=None if vendor.region is None else Region(vendor.region),
        keys=tuple(VendorKey(key_id, secret) for key_id, secret in zip(ids, vendor.keys, strict=True)),
        headers=tuple(vendor.headers.items()),
        timeouts=vendor.timeouts,
    )


def _node(node: NodeSpec) -> Node:
    return Node(
        name=NodeName(node.name),
        origin=_origin(node.url, Reach.NODE, node.certificate),
        engine=node.engine,
        token=node.token,
        region=None if node.region is None else Region(node.region),
        slots=node.slots,
        base_weight=node.slots if node.base_weight is None else node.base_weight,
        windows=MappingProxyType({VendorModel(model.name): model.context_window for model in node.models}),
        cloud_model=None if node.cloud_model is None else VendorModel(node.cloud_model),
        draining=node.draining,
    )


def _origin(text: str, reach: Reach, certificate: str | None = None) -> Origin:
    url = read_url(text)
    return Origin(url.scheme, url.host, url.port, url.base_path, reach, certificate)


def _model(model: ModelSpec, vendors: Mapping[str, Vendor], nodes: tuple[Node, ...]) -> Model:
    regions = model.allowed_regions
    local = tuple(
        _local_target(VendorModel(target.model), nodes) for target in model.targets if target.vendor == LOCAL
    )
    cloud = tuple(
        _cloud_target(vendors[target.vendor], VendorModel(target.model), target.weight, model.timeouts)
        for target in model.targets
        if target.vendor != LOCAL
    )
    return Model(
        name=ModelName(model.name),
        context_window=model.context_window,
        queue_timeout_ms=model.queue_timeout_ms,
        placement=model.placement,
        placement_lock=model.placement_lock,
        selection=model.selection,
        cache_ttl_s=model.cache_ttl_s,
        allowed_regions=None if regions is None else frozenset(Region(region) for region in regions),
        timeouts=model.timeouts,
        local=local,
        cloud=cloud,
        stand_ins=_stand_ins(local, cloud),
    )


def _local_target(vendor_model: VendorModel, nodes: tuple[Node, ...]) -> LocalTarget:
    return LocalTarget(vendor_model, tuple(node for node in nodes if name_on(node, vendor_model) is not None))


def _cloud_target(
    vendor: Vendor, vendor_model: VendorModel, weight: int | None, timeouts: TimeoutSpec
) -> CloudTarget:
    return CloudTarget(
        id=f"{vendor.name}/{vendor_model}",
        vendor=vendor,
        vendor_model=vendor_model,
        weight=weight,
        timeouts=overridden(vendor.timeouts, timeouts),
    )


def _stand_ins(
    local: tuple[LocalTarget, ...], cloud: tuple[CloudTarget, ...]
) -> Mapping[VendorModel, tuple[CloudTarget, ...]]:
    """Give the cloud targets by each vendor model that a node names in their place; equal ones become one."""
    named = {node.cloud_model: None for target in local for node in target.nodes}
    found: dict[VendorModel, tuple[CloudTarget, ...]] = {}
    for name in named:
        if name is not None:
            once: dict[str, CloudTarget] = {}
            for target in cloud:
                stand_in = replace(target, id=f"{target.vendor.name}/{name}", vendor_model=name)
                once.setdefault(stand_in.id, stand_in)
            found[name] = tuple(once.values())
    return MappingProxyType(found)


def _chain(chain: ChainSpec, by_name: Mapping[str, Model]) -> Chain:
    tiers = {tier: tuple(by_name[name] for name in names) for tier, names in chain.tiers.items()}
    return Chain(ModelName(chain.name), MappingProxyType(tiers), chain.default_tier)
