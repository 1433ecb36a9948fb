"""Which models a node serves: those that its engine has and its owner named, and never a stub for a cloud.

Names are matched as the gateway does: a missing tag is `:latest`. Before the first look at the engine nothing is
known, so nothing is served. Of two spellings of one name the first counts: a gateway takes it once.
Not here: what the engine has (`engines/`).
"""

from collections.abc import Iterator, Sequence

from ktms.domain.capacity.serving import with_tag
from ktms.node.state import EngineState, ModelState

_CLOUD = (":cloud", "-cloud")


def is_cloud(name: str) -> bool:
    """Whether a name stands for a model that Ollama fetches from its maker's cloud, past this machine."""
    return name.casefold().endswith(_CLOUD)


def own_models(engine: EngineState, named: Sequence[str]) -> Iterator[ModelState]:
    """Give the models that are served; `named` by the owner, none of them means all."""
    wanted, given = {with_tag(name) for name in named}, set[str]()
    for model in engine.models:
        full = with_tag(model.name)
        if not is_cloud(model.name) and (not wanted or full in wanted) and full not in given:
            given.add(full)
            yield model


def engine_name(asked: str, engine: EngineState, named: Sequence[str]) -> str | None:
    """Give the engine's own spelling of a model that was asked for; None where it is not served."""
    wanted = with_tag(asked)
    return next((model.name for model in own_models(engine, named) if with_tag(model.name) == wanted), None)
