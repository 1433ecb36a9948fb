"""What was found, as values the catalogue takes. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ktms.adapters.discovery.names import readable, usable
from ktms.adapters.discovery.pages import HOST
from ktms.domain.catalogue import EngineKind, ModelSpec, NodeModelSpec, NodeSpec, TargetSpec
from ktms.domain.ids import LOCAL


@dataclass(frozen=True, slots=True)
class EngineModel:
    """A model by the engine's own name; `window_tokens` per slot, None where the engine does not tell."""

    name: str
    window_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What an engine told of itself."""

    engine: EngineKind
    slots: int
    models: tuple[EngineModel, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """One engine on one port of this machine: its node, and one public model for each of its models."""

    engine: EngineKind
    port: int
    node: NodeSpec
    models: tuple[ModelSpec, ...]


def found(facts: EngineFacts, port: int) -> Found | None:
    """Make catalogue values of what an engine told; None when it serves nothing that we could name."""
    nodes: list[NodeModelSpec] = []
    models: list[ModelSpec] = []
    for model in facts.models:
        public = readable(model.name)
        if public is None or not usable(model.name):
            continue
        nodes.append(NodeModelSpec(model.name, model.window_tokens))
        target = TargetSpec(LOCAL, model.name)
        models.append(ModelSpec(public, (target,), context_window=model.window_tokens))
    if not nodes:
        return None
    name = f"{facts.engine.value}-{port}"
    url = f"http://{HOST}:{port}"
    node = NodeSpec(name, url, tuple(nodes), engine=facts.engine, slots=facts.slots)
    return Found(facts.engine, port, node, merge(models))


def merged_models(engines: Iterable[Found]) -> tuple[ModelSpec, ...]:
    """Give the models of all engines; one that several engines serve is one model with several targets."""
    return merge([model for engine in engines for model in engine.models])


def merge(models: Sequence[ModelSpec]) -> tuple[ModelSpec, ...]:
    """Join models of one public name: targets in order without repeats, the largest window that is known."""
    joined: dict[str, ModelSpec] = {}
    for model in models:
        have = joined.get(model.name)
        if have is None:
            joined[model.name] = model
            continue
        targets = tuple(dict.fromkeys(have.targets + model.targets))
        windows = [w for w in (have.context_window, model.context_window) if w is not None]
        joined[model.name] = replace(have, targets=targets, context_window=max(windows, default=None))
    return tuple(joined.values())
