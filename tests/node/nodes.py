"""What tests of the agent share: settings of a node, an engine that was seen."""

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.settings import NodeSettings
from ktms.node.state import EngineState, ModelState, NodeState

KEY, TOKEN = "ktms_node_canary-node-key", "canary-node-token"
EPOCH_MS = 1_789_999_999_000

SEEN = EngineState(
    EngineKind.OLLAMA,
    answers=True,
    version="0.32.1",
    slots=4,
    busy=0,
    models=(ModelState("qwen3:4b", 8192, loaded=True), ModelState("llama3:latest", loaded=False)),
)


def settings(gateway: str = "http://127.0.0.1:1", **members: object) -> NodeSettings:
    """Give settings; `members` in place of the usual ones."""
    usual: dict[str, object] = {
        "gateway": gateway,
        "node_key": Secret(KEY),
        "node_token": Secret(TOKEN),
        "engine": EngineKind.OLLAMA,
        "engine_url": "http://127.0.0.1:11434",
    }
    return NodeSettings(**(usual | members))  # type: ignore[arg-type]  # the test names members


def seen(engine: EngineState = SEEN) -> NodeState:
    """Give the state of an agent that has looked once."""
    return NodeState(engine)
