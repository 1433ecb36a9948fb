"""Nodes as they are shown: as JSON, as rows of a table, as lines; never a token."""

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.config.moment import write_moment

COLUMNS = ("name", "state", "heard", "engine", "slots", "models", "url")


def node_facts(node: admin_pb2.Node) -> dict[str, object]:
    """What is shown of a node; null means unknown, or that the file, or the node itself, has said nothing."""
    return {
        "name": node.name,
        "state": node_state(node),
        "enabled": node.enabled,
        "region": node.region or None,
        "key_id": node.key_id or None,
        "permitted_models": list(node.permitted_models) or None,
        "declared": _facts(node.declared) if node.HasField("declared") else None,
        "announced": {**_facts(node.announced), **_agent(node.announced)} if node.HasField("announced") else None,
        "heard_at": write_moment(float(node.heard_at.seconds)) if node.HasField("heard_at") else None,
        "silent": node.silent,
    }


def node_state(node: admin_pb2.Node) -> str:
    """Say in one word how the node stands: what keeps calls away comes first."""
    if not node.enabled:
        return "off"
    if node.HasField("announced"):
        if node.announced.draining:
            return "draining"
        return "silent" if node.silent else "joined"
    return "declared" if node.HasField("declared") else "awaited"


def node_row(node: admin_pb2.Node) -> list[str]:
    """Give the cells of one row: what the node said, else what the file says."""
    facts = node.announced if node.HasField("announced") else node.declared
    known = node.HasField("announced") or node.HasField("declared")
    return [
        node.name,
        node_state(node),
        write_moment(float(node.heard_at.seconds)) if node.HasField("heard_at") else "never",
        facts.engine or "-",
        str(facts.slots) if known else "-",
        ", ".join(model.name for model in facts.models if not model.ignored) or "-",
        facts.url or "-",
    ]


def node_lines(node: admin_pb2.Node) -> list[tuple[str, str]]:
    """Give what `show` prints: names and values, line by line."""
    lines = [
        ("name", node.name),
        ("state", node_state(node)),
        ("region", node.region or "unknown"),
        ("key", node.key_id or "none"),
        ("may serve", ", ".join(node.permitted_models) or "what is declared, else what it announces"),
    ]
    if node.HasField("declared"):
        lines += [(f"declared {name}", value) for name, value in _shown(node.declared)]
    if node.HasField("announced"):
        lines += [(f"announced {name}", value) for name, value in _shown(node.announced)]
        lines.append(("heard", write_moment(float(node.heard_at.seconds))))
    return lines


def _facts(facts: admin_pb2.NodeFacts) -> dict[str, object]:
    return {
        "url": facts.url,
        "engine": facts.engine,
        "slots": facts.slots,
        "models": [
            {
                "name": model.name,
                "context_window": model.context_window if model.HasField("context_window") else None,
                "loaded": model.loaded if model.HasField("loaded") else None,
                "ignored": model.ignored,
            }
            for model in facts.models
        ],
    }


def _agent(facts: admin_pb2.NodeFacts) -> dict[str, object]:
    return {
        "engine_version": facts.engine_version or None,
        "draining": facts.draining,
        "agent_started_at": write_moment(facts.epoch_ms / 1000),
    }


def _shown(facts: admin_pb2.NodeFacts) -> list[tuple[str, str]]:
    engine = f"{facts.engine} {facts.engine_version}".rstrip()
    models = [("model", _model_text(model)) for model in facts.models]
    return [("url", facts.url), ("engine", engine), ("slots", str(facts.slots)), *models]


def _model_text(model: admin_pb2.NodeModel) -> str:
    notes = [f"window {model.context_window}"] if model.HasField("context_window") else []
    if model.HasField("loaded"):
        notes.append("loaded" if model.loaded else "not loaded")
    if model.ignored:
        notes.append("ignored: not permitted")
    return f"{model.name} ({', '.join(notes)})" if notes else model.name
