"""`ktms-node run` as a process: which exit code a service sees."""

import asyncio
import json
import resource
import sys
from pathlib import Path
from typing import Any

import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.service.background import FILES_MAX
from ktms.node.settings_file import settings_text
from ktms.node.this_machine import ThisMachine
from tests.e2e.ports import any_port
from tests.node.fakes.serving import serving
from tests.node.fakes.vllm import FakeVllm
from tests.node.gateways import GatewayAtHand
from tests.node.nodes import settings

ROOT = Path(__file__).parents[3]


async def run(home: Path, *words: str) -> tuple[int, str]:
    command = (sys.executable, "-m", "ktms.node", "run", "--home", str(home), *words)
    async with asyncio.timeout(40):
        agent = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stderr=asyncio.subprocess.PIPE)
        _, said = await agent.communicate()
    assert agent.returncode is not None
    return agent.returncode, said.decode()


@pytest.mark.parametrize(("words", "code"), [((), 3), (("--superseded-is-success",), 0)])
async def test_an_agent_that_another_has_superseded_ends_as_its_service_wants(
    tmp_path: Path, gateway: GatewayAtHand, words: tuple[str, ...], code: int
) -> None:
    gateway.status, gateway.answer = 409, {"error": {"message": "another agent has this name"}}
    async with serving(FakeVllm()) as engine:
        one = settings(gateway.url, engine=EngineKind.VLLM, engine_url=engine.url, listen_port=any_port())
        (tmp_path / "node.json").write_text(settings_text(one))
        (tmp_path / "node.json").chmod(0o600)
        ended, said = await run(tmp_path, *words)
    assert (ended, "another agent has this name" in said) == (code, True)


async def test_without_settings_it_says_so(tmp_path: Path) -> None:
    code, said = await run(tmp_path)
    assert code == 2
    assert "was not installed as a node" in said


async def test_settings_that_are_none_are_named(tmp_path: Path) -> None:
    (tmp_path / "node.json").write_text(json.dumps([]))
    (tmp_path / "node.json").chmod(0o600)
    code, said = await run(tmp_path)
    assert (code, "node.json" in said) == (2, True)


def modes_in(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mode & 0o777 for path in folder.iterdir()}


async def served(home: Path, gateway: GatewayAtHand, **process: Any) -> tuple[dict[Path, int], str]:
    """Have an agent announce itself once; gives the modes of its files, and its limits."""
    async with serving(FakeVllm()) as engine:
        one = settings(gateway.url, engine=EngineKind.VLLM, engine_url=engine.url, listen_port=any_port())
        (home / "node.json").write_text(settings_text(one))
        (home / "node.json").chmod(0o600)
        command = (sys.executable, "-m", "ktms.node", "run", "--home", str(home), "--log-file", str(home / "l"))
        agent = await asyncio.create_subprocess_exec(*command, cwd=ROOT, **process)
        await gateway.next()
        limits = await asyncio.to_thread(ThisMachine().read, Path(f"/proc/{agent.pid}/limits"))
        agent.terminate()
        await agent.communicate()
    return await asyncio.to_thread(modes_in, home), limits or ""


async def test_nobody_else_may_read_or_write_what_it_writes(tmp_path: Path, gateway: GatewayAtHand) -> None:
    modes, _ = await served(tmp_path, gateway, umask=0)
    assert modes == dict.fromkeys((tmp_path / "node.json", tmp_path / "l", tmp_path / "status.json"), 0o600)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of limits in files")
async def test_it_takes_the_descriptors_that_it_may_have(tmp_path: Path, gateway: GatewayAtHand) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = (min(256, before[1]), before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, few)
    try:
        _, limits = await served(tmp_path, gateway)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    soft = next(line for line in limits.splitlines() if line.startswith("Max open files")).split()[3]
    assert int(soft) == min(FILES_MAX, before[1])
