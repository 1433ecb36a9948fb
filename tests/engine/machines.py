"""Small fleets: nodes `mac-1` to `mac-5` that serve one model, with or without a cloud behind them."""

from dataclasses import replace

from ktms.domain.capacity.seat import Seat
from ktms.domain.catalogue import Catalogue, EngineKind, ModelSpec, NodeModelSpec, NodeSpec, TargetSpec
from ktms.domain.ids import NodeName
from ktms.engine.desk import Desk
from ktms.engine.fleet import Fleet
from tests.engine.rig import CATALOGUE, NODE_HOSTS, NODE_MODEL

HOST_OF = {name: host for host, name in NODE_HOSTS.items()}
ONE, TWO, THREE = NodeName("mac-1"), NodeName("mac-2"), NodeName("mac-3")


def machine(
    name: str,
    *,
    slots: int = 1,
    engine: EngineKind = EngineKind.VLLM,
    window: int | None = None,
    models: tuple[str, ...] = (NODE_MODEL,),
    **members: object,
) -> NodeSpec:
    """Declare a node; `window` is that of all its models."""
    served = tuple(NodeModelSpec(model, context_window=window) for model in models)
    return NodeSpec(name, f"http://{HOST_OF[name]}:8000", served, engine=engine, slots=slots, **members)  # type: ignore[arg-type]  # the constructor checks


def machines(*nodes: NodeSpec, queue_timeout_ms: int = 2000, **members: object) -> Catalogue:
    """Declare these nodes behind the models `homely` (nothing else) and `mixed` (then the vendor `alpha`)."""
    local, cloud = TargetSpec("local", NODE_MODEL), TargetSpec("alpha", "gpt")
    models = (
        ModelSpec("homely", (local,), queue_timeout_ms=queue_timeout_ms),
        ModelSpec("mixed", (local, cloud), queue_timeout_ms=queue_timeout_ms),
    )
    kept = tuple(model for model in CATALOGUE.models if model.name == "cloudy")
    made = replace(CATALOGUE, nodes=nodes, models=(*kept, *models), chains=())
    return replace(made, **members)  # type: ignore[arg-type]  # the constructor checks


def desk_of(fleet: Fleet, model: str = "homely") -> Desk:
    """Give the desk of a model."""
    return next(desk for desk in fleet.desks if desk.model == model)


def seat_of(fleet: Fleet, node: str) -> Seat:
    """Give the first seat of a node."""
    return next(fleet.seats_of(NodeName(node)))
