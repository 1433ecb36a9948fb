"""What `ktms up` serves: the file it was given, else the engines of this machine, else the demo node.

Nodes found earlier that are gone are switched off, not removed: their names stay in chains and policies.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from ktms.adapters.demo_node.node import DemoNode
from ktms.adapters.discovery.found import Found, merged_models
from ktms.adapters.discovery.look import discover
from ktms.adapters.discovery.pages import HOST, LoopbackAsker
from ktms.domain.catalogue import Catalogue, EngineKind, NodeSpec

LOOPBACK_PREFIX = f"http://{HOST}:"


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
        found = await discover(asker.ask, own_ports=own_ports)
    if found:
        return _engines(stored, found)
    declared = [node for node in stored.nodes if node.enabled and not _was_found(node)]
    if not demo or declared or stored.vendors:
        return Wanted(Catalogue(nodes=_gone(stored, ()), policy=stored.policy), ())
    node = await opened.enter_async_context(DemoNode())
    catalogue = Catalogue(
        nodes=(node.spec, *_gone(stored, (node.spec.name,))), models=(node.model,), policy=stored.policy
    )
    return Wanted(catalogue, ("demo node   no engine found here: answers are a demonstration, not a model",))


def _engines(stored: Catalogue, found: Sequence[Found]) -> Wanted:
    nodes = tuple(one.node for one in found)
    catalogue = Catalogue(
        nodes=(*nodes, *_gone(stored, tuple(node.name for node in nodes))),
        models=merged_models(found),
        policy=stored.policy,
    )
    notes = tuple(f"engine      {one.engine.value} on port {one.port}, {one.node.slots} slots" for one in found)
    return Wanted(catalogue, notes)


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
