"""What the methods about nodes, the policy, models and chains do: ask a port, write the answer.

Not here: messages (`node_messages.py`), roles (`rights.py`), statuses and deadlines (`door.py`).
"""

from collections.abc import Callable, Mapping

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.messages import MessageInvalid
from ktms.api.admin_grpc.method import Method, NotFound, method
from ktms.api.admin_grpc.node_messages import (
    chain_message,
    fleet_message,
    model_message,
    node_message,
    policy_message,
    policy_of,
)
from ktms.domain.access.actor import Actor
from ktms.domain.capacity.fleet_status import FleetStatus
from ktms.domain.ids import NodeName
from ktms.domain.joined_node import NodePermit, serving
from ktms.ports.config_store import ConfigStore
from ktms.ports.node_registry import NodeRegistry
from ktms.ports.policy_store import PolicyStore

NAME_SHOWN_MAX = 64
"""The longest name a node may have."""


class NodeService:
    """The methods, over the ports. `fleet` gives this replica's live view."""

    def __init__(
        self,
        config: ConfigStore,
        nodes: NodeRegistry,
        policies: PolicyStore,
        fleet: Callable[[], FleetStatus],
    ) -> None:
        self._config = config
        self._nodes = nodes
        self._policies = policies
        self._fleet = fleet

    def methods(self) -> Mapping[str, Method]:
        """Give the methods by the names of the protocol."""
        return {
            "IssueNodeKey": method(admin_pb2.IssueNodeKeyRequest, self.issue_node_key),
            "RevokeNodeKey": method(admin_pb2.RevokeNodeKeyRequest, self.revoke_node_key),
            "ListNodes": method(admin_pb2.ListNodesRequest, self.list_nodes),
            "SetNodeEnabled": method(admin_pb2.SetNodeEnabledRequest, self.set_node_enabled),
            "GetPolicy": method(admin_pb2.GetPolicyRequest, self.get_policy),
            "SetPolicy": method(admin_pb2.SetPolicyRequest, self.set_policy),
            "ListModels": method(admin_pb2.ListModelsRequest, self.list_models),
            "ListChains": method(admin_pb2.ListChainsRequest, self.list_chains),
            "GetFleet": method(admin_pb2.GetFleetRequest, self.get_fleet),
        }

    async def issue_node_key(
        self, request: admin_pb2.IssueNodeKeyRequest, actor: Actor
    ) -> admin_pb2.IssueNodeKeyResponse:
        """Make the key of a node."""
        permit = NodePermit(request.name, tuple(request.models), request.region or None)
        key, token = await self._nodes.issue(permit, actor=actor)
        return admin_pb2.IssueNodeKeyResponse(key_id=key.id, token=token)

    async def revoke_node_key(
        self, request: admin_pb2.RevokeNodeKeyRequest, actor: Actor
    ) -> admin_pb2.RevokeNodeKeyResponse:
        """Revoke the key of a node."""
        if not await self._nodes.revoke(NodeName(request.name), actor=actor):
            raise NotFound(f"node {_shown(request.name)} has no live key")
        return admin_pb2.RevokeNodeKeyResponse()

    async def list_nodes(self, _request: admin_pb2.ListNodesRequest, _actor: Actor) -> admin_pb2.ListNodesResponse:
        """Give all nodes."""
        return admin_pb2.ListNodesResponse(nodes=[node_message(node) for node in await self._nodes.list()])

    async def set_node_enabled(
        self, request: admin_pb2.SetNodeEnabledRequest, actor: Actor
    ) -> admin_pb2.SetNodeEnabledResponse:
        """Switch a node."""
        if not await self._nodes.set_enabled(NodeName(request.name), enabled=request.enabled, actor=actor):
            raise NotFound(f"there is no node {_shown(request.name)}")
        return admin_pb2.SetNodeEnabledResponse()

    async def get_policy(self, _request: admin_pb2.GetPolicyRequest, _actor: Actor) -> admin_pb2.GetPolicyResponse:
        """Give the policy."""
        stored = await self._policies.policy()
        return admin_pb2.GetPolicyResponse(policy=policy_message(stored.spec), version=stored.version)

    async def set_policy(self, request: admin_pb2.SetPolicyRequest, actor: Actor) -> admin_pb2.SetPolicyResponse:
        """Change settings of the policy."""
        names = tuple(request.update_mask.paths)
        if not names:
            raise MessageInvalid("update_mask: name the settings to change")
        wanted = policy_of(request.policy, names)
        stored = await self._policies.change_policy(wanted, names, actor=actor)
        return admin_pb2.SetPolicyResponse(policy=policy_message(stored.spec), version=stored.version)

    async def list_models(
        self, _request: admin_pb2.ListModelsRequest, _actor: Actor
    ) -> admin_pb2.ListModelsResponse:
        """Give the models, each with the nodes that serve it."""
        catalogue, nodes = await self._config.export(), await self._nodes.list()
        models = [model_message(model, serving(nodes, model)) for model in catalogue.models]
        return admin_pb2.ListModelsResponse(models=models)

    async def list_chains(
        self, _request: admin_pb2.ListChainsRequest, _actor: Actor
    ) -> admin_pb2.ListChainsResponse:
        """Give the chains."""
        catalogue = await self._config.export()
        return admin_pb2.ListChainsResponse(chains=[chain_message(chain) for chain in catalogue.chains])

    async def get_fleet(self, _request: admin_pb2.GetFleetRequest, _actor: Actor) -> admin_pb2.GetFleetResponse:
        """Give the live view."""
        return fleet_message(self._fleet())


def _shown(name: str) -> str:
    """Repeat a name that leads nowhere, unless it is a key by mistake or no name at all."""
    is_name = len(name) <= NAME_SHOWN_MAX and name.isprintable() and not name.startswith("ktms_")
    return name if is_name else "of this name"
