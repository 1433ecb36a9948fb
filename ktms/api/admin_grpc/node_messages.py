"""Nodes, models, chains, the policy and the fleet as messages of the admin plane; nothing is decided here."""

from collections.abc import Collection

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.messages import NANOS_PER_S, PLACEMENTS, placement_of
from ktms.domain.announcement import ANNOUNCE_FORGOTTEN_S
from ktms.domain.capacity.fleet_status import FleetStatus, NodeStatus, QueueStatus, SeatStatus
from ktms.domain.catalogue import ChainSpec, ModelSpec, NodeSpec, PolicySpec
from ktms.domain.joined_node import JoinedNode, KnownNode, admitted


def node_message(node: KnownNode) -> admin_pb2.Node:
    """Write all that is known of a node, without any token."""
    message = admin_pb2.Node(
        name=node.name,
        enabled=node.enabled,
        region=node.region or "",
        key_id=node.key_id or "",
        permitted_models=() if node.permit is None else node.permit.models,
        silent=node.heard_ago_s is not None and node.heard_ago_s > ANNOUNCE_FORGOTTEN_S,
    )
    if node.declared is not None:
        message.declared.CopyFrom(_declared(node.declared))
    if node.permit is not None and node.announcement is not None:
        message.announced.CopyFrom(_announced(JoinedNode(node.permit, node.announcement), node.declared))
    if node.heard_at is not None:
        message.heard_at.FromNanoseconds(round(node.heard_at * NANOS_PER_S))
    return message


def policy_message(policy: PolicySpec) -> admin_pb2.Policy:
    """Write the policy."""
    return admin_pb2.Policy(
        placement=PLACEMENTS[policy.placement],
        placement_lock=policy.placement_lock,
        force_cloud=policy.force_cloud,
        allowed_regions=policy.allowed_regions,
        band=policy.band,
        attempts_max=policy.attempts_max,
    )


def policy_of(message: admin_pb2.Policy, names: Collection[str]) -> PolicySpec:
    """Read the settings that are named; the others are those of a new gateway.

    Raises:
        MessageInvalid: an unknown placement.
    """
    named = "placement" in names
    return PolicySpec(
        placement=placement_of(message.placement, "placement") if named else PolicySpec().placement,
        placement_lock=message.placement_lock,
        force_cloud=message.force_cloud,
        allowed_regions=tuple(message.allowed_regions),
        band=message.band,
        attempts_max=message.attempts_max,
    )


def model_message(model: ModelSpec, nodes: Collection[str]) -> admin_pb2.Model:
    """Write a model and the names of the nodes that serve it."""
    message = admin_pb2.Model(
        name=model.name,
        aliases=model.aliases,
        context_window=model.context_window,
        placement_lock=model.placement_lock,
        allowed_regions=model.allowed_regions or (),
        queue_timeout_ms=model.queue_timeout_ms,
        targets=[
            admin_pb2.Target(vendor=target.vendor, model=target.model, weight=target.weight)
            for target in model.targets
        ],
        nodes=nodes,
    )
    if model.placement is not None:
        message.placement = PLACEMENTS[model.placement]
    return message


def chain_message(chain: ChainSpec) -> admin_pb2.Chain:
    """Write a chain."""
    tiers = [admin_pb2.Tier(name=tier, models=models) for tier, models in chain.tiers.items()]
    return admin_pb2.Chain(name=chain.name, default_tier=chain.default_tier, tiers=tiers)


def fleet_message(fleet: FleetStatus) -> admin_pb2.GetFleetResponse:
    """Write the live view."""
    return admin_pb2.GetFleetResponse(
        known=fleet.known,
        nodes=[_node_status(node) for node in fleet.nodes],
        queues=[_queue_status(queue) for queue in fleet.queues],
    )


def _declared(node: NodeSpec) -> admin_pb2.NodeFacts:
    models = [admin_pb2.NodeModel(name=each.name, context_window=each.context_window) for each in node.models]
    return admin_pb2.NodeFacts(url=node.url, engine=node.engine.value, slots=node.slots, models=models)


def _announced(joined: JoinedNode, declared: NodeSpec | None) -> admin_pb2.NodeFacts:
    said = joined.announcement
    ignored = set(admitted(joined, declared).ignored)
    return admin_pb2.NodeFacts(
        url=said.url,
        engine=said.engine.value,
        engine_version=said.engine_version or "",
        slots=said.slots,
        draining=said.draining,
        epoch_ms=said.epoch_ms,
        models=[
            admin_pb2.NodeModel(
                name=each.name,
                context_window=each.context_window,
                loaded=each.loaded,
                ignored=each.name in ignored,
            )
            for each in said.models
        ],
    )


def _node_status(node: NodeStatus) -> admin_pb2.NodeStatus:
    return admin_pb2.NodeStatus(
        name=node.name,
        engine=node.engine,
        health=node.health,
        draining=node.draining,
        busy=node.busy,
        slots=node.slots,
        seats=[_seat_status(seat) for seat in node.seats],
        engine_calls=node.engine_calls,
        kv_used=node.kv_used,
    )


def _seat_status(seat: SeatStatus) -> admin_pb2.SeatStatus:
    return admin_pb2.SeatStatus(
        model=seat.vendor_model,
        context_window=seat.window,
        cold=seat.cold,
        speed=seat.speed,
        prefill_tokens_per_s=seat.prefill_tokens_per_s,
        decode_tokens_per_s=seat.decode_tokens_per_s,
        samples=seat.samples,
    )


def _queue_status(queue: QueueStatus) -> admin_pb2.QueueStatus:
    return admin_pb2.QueueStatus(
        model=queue.model,
        waiting=queue.waiting,
        slots=queue.slots,
        busy=queue.busy,
        holding_s=queue.holding_s,
        forecast_s=queue.forecast_s,
    )
