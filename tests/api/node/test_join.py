"""From a key to a node that calls are led to: the admin plane, the node door and the snapshot over one store."""

from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.policy_store import MemoryPolicyStore
from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.node_service import NodeService
from ktms.domain.capacity.fleet_status import FleetStatus
from ktms.domain.catalogue import Catalogue, ModelSpec, TargetSpec
from tests.api.node.yard import EPOCH_MS, OPERATOR, Yard

MODEL = ModelSpec("small", (TargetSpec("local", "qwen3:4b"),))


async def test_a_machine_joins_serves_restarts_drains_and_leaves(yard: Yard) -> None:
    config = MemoryConfigStore(yard.store, SeededEntropy("join"))
    admin = NodeService(config, yard.nodes, MemoryPolicyStore(yard.store), lambda: FleetStatus(known=False))
    await config.apply(Catalogue(models=(MODEL,)), actor=OPERATOR, prune=False, dry_run=False)

    issue = admin_pb2.IssueNodeKeyRequest(name="mac-1", models=["qwen3:4b"], region="fr")
    made = await admin.issue_node_key(issue, OPERATOR)
    assert await serving(yard) == []

    answer = await yard.announce(made.token, query="?verify=1")
    assert (answer.json["accepted"], answer.json["verified"]) == (["qwen3:4b"], True)
    assert await serving(yard) == ["10.0.0.7"]

    await yard.announce(made.token, url="http://10.0.0.9:8790", epoch=EPOCH_MS + 1)
    assert (await yard.announce(made.token)).status == 409
    assert await serving(yard) == ["10.0.0.9"]

    await yard.announce(made.token, url="http://10.0.0.9:8790", epoch=EPOCH_MS + 1, draining=True)
    assert await serving(yard) == []
    await yard.announce(made.token, url="http://10.0.0.9:8790", epoch=EPOCH_MS + 2)
    assert await serving(yard) == ["10.0.0.9"]

    await admin.revoke_node_key(admin_pb2.RevokeNodeKeyRequest(name="mac-1"), OPERATOR)
    assert (await yard.announce(made.token, epoch=EPOCH_MS + 3)).status == 401
    assert await serving(yard) == []
    assert (await config.export()).nodes == ()


async def serving(yard: Yard) -> list[str]:
    """Give the hosts of the nodes that calls for the model are led to."""
    (model,) = (await yard.catalogue.snapshot()).models
    return [node.origin.host for local in model.local for node in local.nodes if not node.draining]
