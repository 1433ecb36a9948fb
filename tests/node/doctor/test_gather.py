import json
from pathlib import Path

import pytest

from ktms.node.cli import COMMANDS, main
from ktms.node.commands.doctor import EPILOG
from ktms.node.doctor.gather import SAID_LENGTH_MAX, gather
from ktms.node.doctor.judge import judge
from ktms.node.home import NodeHome
from tests.node.doctor.world import World, facts_of, standing
from tests.node.recordings import AGENT_PID, DF, PS, linux


async def test_where_ps_is_missing_the_agent_is_looked_for_among_processes(tmp_path: Path) -> None:
    world = World(linux())
    world.machine.lacks(*PS)
    world.machine.files[Path(f"/proc/{AGENT_PID}/stat")] = "4242 (python) S 1"
    facts = await facts_of(world, tmp_path)
    assert facts.agent is not None
    assert facts.agent.alive


async def test_a_status_without_a_process_is_of_an_agent_that_is_gone(tmp_path: Path) -> None:
    world = World(linux())
    world.status["pid"] = 99_999
    home = NodeHome(tmp_path / ".ktms")
    world.machine.files[home.log] = f"2026-11-30T10:00:00Z info first\n{'x' * 999}\n"
    facts = await facts_of(world, tmp_path)
    assert facts.agent is not None
    assert (facts.agent.alive, facts.agent.said_last) == (False, "x" * SAID_LENGTH_MAX)
    assert facts.gateway is not None
    assert facts.gateway.not_asked == "no agent runs"


async def test_the_disk_of_the_models_is_looked_at_too(tmp_path: Path) -> None:
    world = World(linux())
    world.machine.variables = {**world.machine.variables, "OLLAMA_MODELS": "/data/models"}
    await facts_of(world, tmp_path)
    assert (*DF, str(tmp_path / ".ktms"), "/data/models") in world.machine.asked


async def test_every_command_only_prints(tmp_path: Path) -> None:
    world = World(linux())
    await facts_of(world, tmp_path)
    changing = {"start", "stop", "restart", "enable", "enable-linger", "mask", "bootstrap", "kickstart", "kill"}
    assert [words for words in world.machine.asked if changing & set(words)] == []


async def test_without_settings_only_the_machine_is_asked(tmp_path: Path) -> None:
    world = World(linux(), is_installed=False)
    async with standing(world, tmp_path) as asked:
        facts = await gather(asked)
    assert (facts.unusable is not None, facts.engine, facts.gateway, world.ollama.asked) == (True, None, None, [])
    assert len(judge(facts)) == 1


def test_the_command_gives_json_and_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--home", str(tmp_path), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (ended.value.code, told["exit_code"]) == (1, 1)
    assert [one["cause"] for one in told["findings"]] == ["settings-unusable"]


def test_the_help_tells_what_the_exit_codes_mean(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["doctor", "--help"])
    assert EPILOG in capsys.readouterr().out
    assert "doctor" in COMMANDS
