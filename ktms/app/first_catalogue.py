"""What `ktms up` serves: the file it was given, else what is stored and the engines found, else the demo node.

Nodes found earlier that are gone are switched off, not removed: their names stay in chains and policies. What a
person declared stays as it is: an engine that has a node of its own is not registered again, and a model that is
stored keeps its aliases, its other targets and its settings.
"""

from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from ktms.adapters.demo_node.node import DemoNode
from ktms.adapters.discovery.found import Found, merged_models
from ktms.adapters.discovery.look import discover
from ktms.adapters.discovery.pages import HOST, LoopbackAsker
from ktms.domain.catalogue import Catalogue, EngineKind, ModelSpec, NodeSpec
from ktms.domain.ids import LOCAL

LOOPBACK_PREFIX = f"http://{HOST}:"
LOCALHOST_PREFIX = "http://localhost:"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to apply, and a line for each thing found."""

    catalogue: Catalogue
    notes: tuple[str, ...]


async def look_around(
    stored: Catalogue, *, own_ports: Sequence[int], demo: bool, opened: AsyncExitStack
) -> Wanted:
    """Look for engines; start the demo node in `opened` where there are none and no other node is declared."""
    async with LoopbackAsker() as asker:
        found = undeclared(stored, await discover(asker.ask, own_ports=own_ports))
    if found:
        return registered(stored, found)
    if not demo or is_declared(stored):
        return Wanted(Catalogue(nodes=_gone(stored, ()), policy=stored.policy), ())
    node = await opened.enter_async_context(DemoNode())
    catalogue = Catalogue(
        nodes=(node.spec, *_gone(stored, (node.spec.name,))), models=(node.model,), policy=stored.policy
    )
    return Wanted(catalogue, ("demo node   no engine found here: answers are a demonstration, not a model",))


def is_declared(stored: Catalogue) -> bool:
    """Whether a person has said where calls go: by `--config` or `ktms apply`, now or at an earlier start."""
    return bool(stored.vendors) or any(node.enabled and not _was_found(node) for node in stored.nodes)


async def beside(declared: Catalogue, stored: Catalogue, *, own_ports: Sequence[int] = ()) -> tuple[NodeSpec, ...]:
    """Give the nodes to switch off beside a file: found by earlier starts, and gone or declared by it now."""
    found = [node for node in stored.nodes if node.enabled and _was_found(node)]
    if not found:
        return ()
    async with LoopbackAsker() as asker:
        answering = undeclared(declared, await discover(asker.ask, own_ports=own_ports))
    return _gone(stored, (*(one.node.name for one in answering), *(node.name for node in declared.nodes)))


def undeclared(stored: Catalogue, found: Sequence[Found]) -> list[Found]:
    """Give the engines that no declared node stands for."""
    urls = {
        node.url.rstrip("/").replace(LOCALHOST_PREFIX, LOOPBACK_PREFIX)
        for node in stored.nodes
        if not _was_found(node)
    }
    return [one for one in found if one.node.url not in urls]


def registered(stored: Catalogue, found: Sequence[Found]) -> Wanted:
    """Make nodes and models of the engines found."""
    nodes = tuple(_as_kept(stored, one.node) for one in found)
    catalogue = Catalogue(
        nodes=(*nodes, *_gone(stored, tuple(node.name for node in nodes))),
        models=tuple(_with_kept(stored, merged_models(found))),
        policy=stored.policy,
    )
    notes = tuple(f"engine      {one.engine.value} on port {one.port}, {one.node.slots} slots" for one in found)
    return Wanted(catalogue, notes)


def _as_kept(stored: Catalogue, node: NodeSpec) -> NodeSpec:
    kept = next((one for one in stored.nodes if one.name == node.name), node)
    return replace(node, region=kept.region, base_weight=kept.base_weight, cloud_model=kept.cloud_model)


def _with_kept(stored: Catalogue, models: Sequence[ModelSpec]) -> Iterator[ModelSpec]:
    """Give the models as they are stored, where they are; a name that stands for something else is left alone."""
    have = {model.name: model for model in stored.models}
    taken = {alias for model in stored.models for alias in model.aliases}
    taken.update(chain.name for chain in stored.chains)
    for model in models:
        kept = have.get(model.name)
        if kept is not None:
            yield _joined(kept, model)
        elif model.name not in taken:
            yield model


def _joined(kept: ModelSpec, model: ModelSpec) -> ModelSpec:
    places = {(target.vendor, target.model) for target in kept.targets}
    new = tuple(target for target in model.targets if (target.vendor, target.model) not in places)
    ours_alone = all(target.vendor == LOCAL for target in kept.targets)
    window = model.context_window if ours_alone and model.context_window is not None else kept.context_window
    return replace(kept, targets=(*kept.targets, *new), context_window=window)


def _gone(stored: Catalogue, here: Sequence[str]) -> tuple[NodeSpec, ...]:
    return tuple(
        replace(node, enabled=False, token=None)
        for node in stored.nodes
        if node.enabled and _was_found(node) and node.name not in here
    )


def _was_found(node: NodeSpec) -> bool:
    """Whether a node was registered by an earlier look: named after its engine and port, or the demo."""
    port = node.url.removeprefix(LOOPBACK_PREFIX)
    return node.engine is EngineKind.DEMO or node.name == f"{node.engine.value}-{port}"
