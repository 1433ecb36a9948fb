import json

from tests.app.cli.terminal import Terminal

CATALOGUE = """version: 1
vendors: [{name: cloud, kind: openai, base_url: "https://cloud.example/v1"}]
models: [{name: a, targets: [{vendor: cloud, model: m}]}, {name: b, targets: [{vendor: cloud, model: n}]}]
chains: [{name: auto, default_tier: low, tiers: {high: [a, b], low: [b]}}]
"""


async def test_chains_are_listed_with_their_tiers(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", CATALOGUE))
    _, row = (await terminal.run("admin", "chains", "list")).stdout.splitlines()
    assert row.split() == ["auto", "low", "high,", "low"]


async def test_a_chain_is_shown_tier_by_tier(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", CATALOGUE))
    _, high, low = (await terminal.run("admin", "chains", "show", "auto")).stdout.splitlines()
    assert (high.split(), low.split()) == (["high", "a,", "b"], ["low", "(default)", "b"])


async def test_chains_are_printed_as_json(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", CATALOGUE))
    shown = json.loads((await terminal.run("admin", "chains", "show", "auto", "--json")).stdout)
    assert shown == {"name": "auto", "default_tier": "low", "tiers": {"high": ["a", "b"], "low": ["b"]}}
    assert json.loads((await terminal.run("admin", "chains", "list", "--json")).stdout) == [shown]


async def test_a_chain_that_is_not_there_is_said_in_one_line(terminal: Terminal) -> None:
    result = await terminal.run("admin", "chains", "show", "gone")
    assert (result.exit_code, result.stderr) == (1, "ktms: there is no chain gone\n")
