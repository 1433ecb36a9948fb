import json

from tests.app.cli.terminal import Terminal

FILE = """\
version: 1
vendors:
  - {name: openai, kind: openai, base_url: "https://api.openai.com/v1", keys: [{value: sk-canary}]}
models:
  - {name: gpt, targets: [{vendor: openai, model: gpt-4o-mini}]}
"""


async def test_an_export_applied_again_changes_nothing(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", FILE))
    exported = await terminal.run("export")
    again = await terminal.run("apply", "--prune", "-f", terminal.write("copy.yaml", exported.stdout))
    assert again.stderr.endswith("Nothing to change; version 1 is in force.\n")


async def test_an_export_holds_no_secret(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", FILE))
    exported = await terminal.run("export")
    assert "gpt-4o-mini" in exported.stdout
    assert "sk-canary" not in exported.output


async def test_an_export_as_json_is_the_document_of_the_admin_plane(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", FILE))
    document = json.loads((await terminal.run("export", "--json")).stdout)
    assert document["format"] == 1
    assert document["catalogue"]["models"][0]["name"] == "gpt"
