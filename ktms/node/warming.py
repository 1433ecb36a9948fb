"""Brings the models that the owner named into memory once, after the start; all others load when they are asked.

One after another, and the first that does not load ends it: there may be no room for more. Not here: how an engine
is made to load (`engines/`), what it unloads by itself.
"""

from collections.abc import Sequence

from ktms.node.announcer import Told
from ktms.node.engines.look import Engine, NotWarm
from ktms.node.filter.own_models import own_models
from ktms.node.state import NodeState


async def warm_named(engine: Engine, state: NodeState, named: Sequence[str], told: Told) -> None:
    """Warm them as soon as the engine answers."""
    if not named:
        return
    await state.seen.wait()
    for model in tuple(own_models(state.engine, named)):
        if model.loaded is False:
            try:
                await engine.warm(model.name)
            except NotWarm as error:
                told("warning", f"{model.name} was not loaded: {error}")
                return
