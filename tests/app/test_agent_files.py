import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

from ktms.api.node.downloads import AGENT, INSTALLER
from ktms.app.agent_files import PACKAGE, agent_files, agent_wheel, installer_text, wheel_name


def names() -> set[str]:
    return set(zipfile.ZipFile(io.BytesIO(agent_wheel())).namelist())


def test_the_wheel_is_the_same_whenever_it_is_made() -> None:
    assert agent_wheel() == agent_wheel()


def test_the_wheel_holds_the_agent_and_the_domain_and_no_part_of_the_gateway() -> None:
    rooms = {name.split("/")[1] for name in names() if name.startswith("ktms/")}
    assert rooms == {"__init__.py", "domain", "node"}


def test_every_module_of_the_agent_is_in_the_wheel() -> None:
    modules = {f"ktms/{path.relative_to(PACKAGE).as_posix()}" for path in (PACKAGE / "node").rglob("*.py")}
    assert modules <= names()


def test_the_wheel_can_be_installed_and_imported(tmp_path: Path) -> None:
    wheel, home = tmp_path / wheel_name(), tmp_path / "home"
    wheel.write_bytes(agent_wheel())
    uv = Path(sys.executable).parent / "uv"
    words: list[str | Path] = [uv, "pip", "install", "--offline", "--no-deps", "--target", home, wheel]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    program = [sys.executable, "-c", "import ktms.node.settings; print(ktms.node.__file__)"]
    env = {"PYTHONPATH": str(home)}
    found = subprocess.run(program, check=False, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout.startswith(str(home)), found.stderr


def test_the_installer_knows_the_hash_of_the_wheel() -> None:
    files = agent_files()
    digest = hashlib.sha256(files[AGENT].body).hexdigest()
    assert digest in files[INSTALLER].body.decode()


def test_nothing_that_was_to_be_filled_in_is_left_in_the_installer() -> None:
    assert not [line for line in installer_text("ab" * 32).splitlines() if "@" in line and line.count("@") >= 2]
