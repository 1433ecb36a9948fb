"""The installer runs before anything is installed: from the wheel, with the standard library alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from ktms.app.agent_files import agent_wheel, wheel_name

ROOT = Path(__file__).parents[3]

BLOCKED = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"aiohttp", "yarl", "multidict", "attr", "idna"}:
            raise ImportError(f"{name} is not installed yet")

sys.meta_path.insert(0, Refuse())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wheel") / wheel_name()
    path.write_bytes(agent_wheel())
    return path


def python(wheel: Path, program: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program as `install.sh` does, with all that is not of Python blocked."""
    env = {"PYTHONPATH": str(wheel), "PATH": "/usr/bin:/bin", "KTMS_NODE_WHEEL": str(wheel), **variables}
    command = [sys.executable, "-P", "-s", "-c", BLOCKED + program, *words]
    return subprocess.run(command, env=env, cwd=ROOT, check=False, capture_output=True, text=True)


def test_every_module_of_the_installer_is_imported_from_the_wheel_without_aiohttp(wheel: Path) -> None:
    modules = sorted(path.stem for path in (ROOT / "ktms/node/install").glob("*.py") if path.stem != "__main__")
    program = "".join(f"import ktms.node.install.{name}\n" for name in modules)
    done = python(wheel, program + "print(ktms.node.install.__file__)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(wheel))


def test_a_dry_run_from_the_wheel_says_what_would_be_done(wheel: Path, tmp_path: Path) -> None:
    program = "import runpy; runpy.run_module('ktms.node.install', run_name='__main__', alter_sys=True)"
    words = (
        "--dry-run",
        "--gateway",
        "http://127.0.0.1:1",
        "--engine",
        "vllm",
        "--engine-url",
        "http://127.0.0.1:1",
    )
    done = python(wheel, program, *words, KTMS_NODE_KEY="ktms_node_canary", HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "would install the agent" in done.stderr
    assert "ktms_node_canary" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_requirements_come_out_of_the_wheel(wheel: Path) -> None:
    program = "from ktms.node.install.agent_environment import requirements; print(requirements()[:7])"
    assert "aioh" in python(wheel, program).stdout


def test_what_is_refused_has_its_own_exit_code_and_a_line_each(wheel: Path, tmp_path: Path) -> None:
    program = "import runpy; runpy.run_module('ktms.node.install', run_name='__main__', alter_sys=True)"
    done = python(wheel, program, "--engine", "vllm", HOME=str(tmp_path))
    assert done.returncode == 2
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["ktms-node"] * 3
