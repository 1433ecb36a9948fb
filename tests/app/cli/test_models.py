import json

from tests.app.cli.terminal import Terminal

CATALOGUE = """version: 1
vendors: [{name: cloud, kind: openai, base_url: "https://cloud.example/v1"}]
nodes: [{name: mac-1, url: "http://10.0.0.7:1", models: [{name: q}]}]
models:
  - {name: small, aliases: [default], context_window: 8192, placement: nodes_only, placement_lock: true,
     targets: [{vendor: local, model: q}, {vendor: cloud, model: m, weight: 2}]}
  - {name: far, targets: [{vendor: cloud, model: m}]}
"""


async def test_models_are_listed_with_targets_and_nodes(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", CATALOGUE))
    head, small, far = (await terminal.run("admin", "models", "list")).stdout.splitlines()
    assert head.split() == ["name", "aliases", "window", "placement", "targets", "nodes"]
    assert small.split() == ["small", "default", "8192", "nodes_only", "(locked)", "local/q,", "cloud/m", "mac-1"]
    assert far.split() == ["far", "-", "-", "-", "cloud/m", "-"]


async def test_models_are_printed_as_json(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", CATALOGUE))
    small, far = json.loads((await terminal.run("admin", "models", "list", "--json")).stdout)
    assert small == {
        "name": "small",
        "aliases": ["default"],
        "context_window": 8192,
        "placement": "nodes_only",
        "placement_lock": True,
        "allowed_regions": None,
        "queue_timeout_ms": 2000,
        "targets": [
            {"vendor": "local", "model": "q", "weight": None},
            {"vendor": "cloud", "model": "m", "weight": 2},
        ],
        "nodes": ["mac-1"],
    }
    assert (far["context_window"], far["placement"], far["nodes"]) == (None, None, [])
