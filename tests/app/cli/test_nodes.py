import json
from dataclasses import replace

import pytest
from click.testing import Result

from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.adapters.system.entropy import SystemEntropy
from ktms.domain.access.actor import Role
from ktms.domain.access.key_form import KeyKind, read_key
from ktms.domain.access.secret import Secret
from ktms.domain.announcement import AnnouncedModel, Announcement
from ktms.domain.catalogue import EngineKind
from tests.app.cli.terminal import Terminal
from tests.domain.announcements import SAID as ANNOUNCED

DECLARED = """version: 1
nodes:
  - {name: by-hand, url: "http://10.0.0.8:1", engine: vllm, slots: 2, models: [{name: m, context_window: 4096}]}
"""
SAID = replace(
    ANNOUNCED, models=(ANNOUNCED.models[0], AnnouncedModel("llama3", loaded=False), AnnouncedModel("x"))
)


async def nodes(terminal: Terminal, *args: str) -> Result:
    return await terminal.run("admin", "nodes", *args)


async def join(terminal: Terminal, name: str = "mac-1", *args: str) -> None:
    made = await nodes(terminal, "create", name, *args)
    text = read_key(made.stdout.strip())
    assert text is not None
    registry = MemoryNodeRegistry(terminal.stage.store, SystemEntropy(), terminal.stage.clock)
    await registry.announce(text.id, SAID)


async def test_the_key_of_a_node_stands_alone_on_standard_output(terminal: Terminal) -> None:
    result = await nodes(terminal, "create", "mac-1", "--model", "qwen3:4b", "--region", "fr")
    text = read_key(result.stdout.removesuffix("\n"))
    assert text is not None
    assert text.kind is KeyKind.NODE
    assert f"Made the key of node mac-1 ({text.id})" in result.stderr
    assert terminal.stage.store.node_keys[0].permit.models == ("qwen3:4b",)


async def test_what_to_run_on_the_machine_is_printed_without_the_key_that_goes_into_a_file(
    terminal: Terminal,
) -> None:
    result = await nodes(terminal, "create", "mac-1", "--model", "a b", "--gateway", "https://gw.example/")
    line = next(line for line in result.stderr.splitlines() if "curl" in line)
    assert line == (
        "  curl -fsS https://gw.example/node/v1/install.sh | KTMS_NODE_KEY=ktms_node_… "
        "sh -s -- --gateway https://gw.example --model 'a b'"
    )
    assert result.stdout.strip() not in result.stderr


async def test_the_install_command_in_json_holds_the_key_in_its_environment(terminal: Terminal) -> None:
    made = json.loads((await nodes(terminal, "create", "mac-1", "--json")).stdout)
    assert f"| KTMS_NODE_KEY={made['token']} sh -s -- --gateway https://GATEWAY" in made["install"]


async def test_a_key_is_printed_as_json(terminal: Terminal) -> None:
    made = json.loads((await nodes(terminal, "create", "mac-1", "--json")).stdout)
    text = read_key(made["token"])
    assert text is not None
    assert (made["name"], made["key_id"]) == ("mac-1", text.id)


async def test_nodes_are_listed_as_a_table(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", DECLARED))
    await join(terminal, "mac-1", "--model", "qwen3:4b")
    await nodes(terminal, "create", "mac-2")
    head, *rows = (await nodes(terminal, "list")).stdout.splitlines()
    assert head.split() == ["name", "state", "heard", "engine", "slots", "models", "url"]
    heard = "2026-09-21T14:13:20Z"
    assert [row.split() for row in rows] == [
        ["by-hand", "declared", "never", "vllm", "2", "m", "http://10.0.0.8:1"],
        ["mac-1", "joined", heard, "ollama", "4", "qwen3:4b", "http://10.0.0.7:8790"],
        ["mac-2", "awaited", "never", "-", "-", "-", "-"],
    ]


async def test_a_node_is_shown_with_all_that_is_known_of_it(terminal: Terminal) -> None:
    await join(terminal, "mac-1", "--model", "qwen3:4b", "--model", "llama3", "--region", "fr")
    lines = [line.split(maxsplit=2) for line in (await nodes(terminal, "show", "mac-1")).stdout.splitlines()[1:]]
    text = "\n".join(" ".join(line) for line in lines)
    assert "region fr" in text
    assert "may serve qwen3:4b, llama3" in text
    assert "announced engine ollama 0.32.1" in text
    assert "announced model qwen3:4b (window 8192, loaded)" in text
    assert "announced model llama3 (not loaded)" in text
    assert "announced model x (ignored: not permitted)" in text


async def test_a_declared_node_is_shown_by_its_declaration(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", DECLARED))
    text = (await nodes(terminal, "show", "by-hand")).stdout
    assert "what is declared, else what it announces" in text
    assert "m (window 4096)" in text
    assert "announced model" not in text


async def test_json_tells_everything_but_tokens(terminal: Terminal) -> None:
    await terminal.run("apply", "-f", terminal.write("gateway.yaml", DECLARED))
    await join(terminal)
    result = await nodes(terminal, "list", "--json")
    by_hand, mac = json.loads(result.stdout)
    assert (by_hand["announced"], by_hand["declared"]["slots"]) == (None, 2)
    assert mac["announced"]["models"][0] == {
        "name": "qwen3:4b",
        "context_window": 8192,
        "loaded": True,
        "ignored": False,
    }
    assert mac["announced"]["agent_started_at"] == "2026-09-21T14:13:20Z"
    assert (mac["state"], mac["declared"], mac["permitted_models"], mac["region"]) == ("joined", None, None, None)
    assert "canary" not in result.stdout
    assert json.loads((await nodes(terminal, "show", "mac-1", "--json")).stdout) == mac


async def test_a_silent_node_and_one_that_drains_are_told_apart(terminal: Terminal) -> None:
    await join(terminal, "mac-1")
    terminal.stage.clock.advance(101)
    await join(terminal, "mac-2")
    row = terminal.stage.store.node_keys[1]
    assert row.announcement is not None
    registry = MemoryNodeRegistry(terminal.stage.store, SystemEntropy(), terminal.stage.clock)
    draining = Announcement("http://10.0.0.7:1", Secret("t"), EngineKind.VLLM, SAID.epoch_ms, 1, (), draining=True)
    await registry.announce(row.id, draining)
    states = [node["state"] for node in json.loads((await nodes(terminal, "list", "--json")).stdout)]
    assert states == ["silent", "draining"]


async def test_nodes_are_switched_off_and_on(terminal: Terminal) -> None:
    await join(terminal, "mac-1")
    await join(terminal, "mac-2")
    off = await nodes(terminal, "disable", "mac-1", "mac-2")
    assert (off.exit_code, off.stderr) == (0, "Switched node mac-1 off.\nSwitched node mac-2 off.\n")
    assert [each["state"] for each in json.loads((await nodes(terminal, "list", "--json")).stdout)] == ["off"] * 2
    on = await nodes(terminal, "enable", "mac-1")
    assert (on.exit_code, on.stderr) == (0, "Switched node mac-1 on.\n")


@pytest.mark.parametrize("command", ["disable", "enable", "revoke-key"])
async def test_a_command_for_several_nodes_of_which_one_does_not_exist_is_done_to_none(
    terminal: Terminal, command: str
) -> None:
    await join(terminal, "mac-1")
    if command == "enable":
        await nodes(terminal, "disable", "mac-1")
    before = json.loads((await nodes(terminal, "list", "--json")).stdout)
    result = await nodes(terminal, command, "mac-1", "nope", "gone")
    why = "node {} has no live key" if command == "revoke-key" else "there is no node {}"
    said = f"ktms: {why.format('nope')}\nktms: {why.format('gone')}\nktms: nothing was changed\n"
    assert (result.exit_code, result.stderr) == (1, said)
    assert json.loads((await nodes(terminal, "list", "--json")).stdout) == before


async def test_a_name_that_is_given_twice_is_meant_once(terminal: Terminal) -> None:
    await join(terminal, "mac-1")
    result = await nodes(terminal, "revoke-key", "mac-1", "mac-1")
    assert (result.exit_code, result.stderr) == (0, "Revoked the key of node mac-1.\n")


async def test_a_revoked_key_leaves_nothing_of_a_node_that_only_joined(terminal: Terminal) -> None:
    await join(terminal)
    result = await nodes(terminal, "revoke-key", "mac-1")
    assert (result.exit_code, result.stderr) == (0, "Revoked the key of node mac-1.\n")
    assert json.loads((await nodes(terminal, "list", "--json")).stdout) == []


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("show", "gone"), 1, "ktms: there is no node gone\n"),
        (("enable", "gone"), 1, "ktms: there is no node gone\n"),
        (("revoke-key", "gone"), 1, "ktms: node gone has no live key\n"),
        (("create", "a b"), 1, "ktms: name: must be 1 to 64 letters, digits, . _ or -"),
        (("create", "a", "--region", "FR"), 1, "ktms: region: must be 1 to 32 lower-case letters"),
        (("create", "a", "--region", ""), 2, "Invalid value for --region: is empty"),
        (("create",), 2, "Missing argument 'NAME'"),
        (("revoke-key",), 2, "Missing argument 'NAME...'"),
    ],
)
async def test_what_does_not_work_is_said_in_one_line(
    terminal: Terminal, args: tuple[str, ...], code: int, said: str
) -> None:
    result = await nodes(terminal, *args)
    assert result.exit_code == code
    assert said in result.stderr
    assert result.stdout == ""


async def test_a_node_that_has_a_key_gets_no_second_one(terminal: Terminal) -> None:
    await nodes(terminal, "create", "mac-1")
    result = await nodes(terminal, "create", "mac-1")
    assert (result.exit_code, result.stderr) == (
        1,
        "ktms: this node has a live key: revoke it first (ktms admin nodes revoke-key NAME)\n",
    )


async def test_a_viewer_lists_and_creates_nothing(terminal: Terminal) -> None:
    key = terminal.stage.tokens[Role.VIEWER]
    assert (await terminal.run("admin", "nodes", "list", KTMS_ADMIN_KEY=key)).exit_code == 0
    result = await terminal.run("admin", "nodes", "create", "mac-1", KTMS_ADMIN_KEY=key)
    assert result.stderr == "ktms: IssueNodeKey needs the role operator, this key has viewer\n"
