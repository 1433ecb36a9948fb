"""The locks hold what is declared, pinned by hash, and name no registry."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

LOCKS = ("release/requirements/dev.txt", "release/requirements/server.txt", "ktms/node/requirements.txt")
NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")
PINNED = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^ ;\\]+)", re.MULTILINE)


def declared(project: dict[str, Any], extras: Iterable[str], groups: Iterable[str]) -> set[str]:
    optional = project["project"]["optional-dependencies"]
    lists = [project["project"]["dependencies"]]
    lists += [optional[extra] for extra in extras] + [project["dependency-groups"][group] for group in groups]
    names = {_normal(NAME.findall(requirement)[0]) for requirements in lists for requirement in requirements}
    return names - {"ktms"}


def _normal(name: str) -> str:
    """PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: str) -> dict[str, str]:
    return dict(PINNED.findall(lock))


def unhashed(lock: str) -> Iterator[str]:
    for block in re.split(r"\n(?=\S)", lock):
        if PINNED.match(block) and "--hash=sha256:" not in block:
            yield PINNED.findall(block)[0][0]


def registry_marks(lock: str) -> list[str]:
    return [line for line in lock.splitlines() if "://" in line or re.match(r"-(-|i|f)", line)]


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text())


def test_the_lock_for_development_holds_everything_declared(root: Path, project: dict[str, Any]) -> None:
    wanted = declared(project, project["project"]["optional-dependencies"], ["dev"])
    assert wanted - pins((root / LOCKS[0]).read_text()).keys() == set()


def test_the_lock_for_servers_holds_everything_a_server_needs(root: Path, project: dict[str, Any]) -> None:
    wanted = declared(project, ["server", "embedded"], [])
    assert wanted - pins((root / LOCKS[1]).read_text()).keys() == set()


def test_the_lock_for_agents_holds_what_an_agent_needs(root: Path, project: dict[str, Any]) -> None:
    assert declared(project, [], []) - pins((root / LOCKS[2]).read_text()).keys() == set()


@pytest.mark.parametrize("lock", LOCKS[1:])
def test_what_is_installed_elsewhere_has_the_versions_that_were_tested(root: Path, lock: str) -> None:
    tested, run = (pins((root / one).read_text()) for one in (LOCKS[0], lock))
    assert {name: version for name, version in run.items() if tested.get(name) != version} == {}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_has_a_hash(root: Path, lock: str) -> None:
    assert list(unhashed((root / lock).read_text())) == []


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_a_registry(root: Path, lock: str) -> None:
    assert registry_marks((root / lock).read_text()) == []


def test_the_lock_of_the_javascript_parts_names_no_registry_and_hashes_everything(root: Path) -> None:
    lock = json.loads((root / "tests/e2e/node/package-lock.json").read_text())
    installed = {name: entry for name, entry in lock["packages"].items() if name}
    assert [name for name, entry in installed.items() if "resolved" in entry or "integrity" not in entry] == []


def test_the_lock_of_the_javascript_parts_follows_its_manifest(root: Path) -> None:
    folder = root / "tests/e2e/node"
    wanted = json.loads((folder / "package.json").read_text())["devDependencies"]
    locked = json.loads((folder / "package-lock.json").read_text())["packages"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted


def test_a_missing_name_is_found() -> None:
    project = {
        "project": {"dependencies": ["aiohttp>=3"], "optional-dependencies": {"x": ["Ruamel.YAML", "ktms[y]"]}},
        "dependency-groups": {"dev": ["redis[hiredis]>=8"]},
    }
    assert declared(project, ["x"], ["dev"]) - pins("aiohttp==3.1 \\\n").keys() == {"redis", "ruamel-yaml"}


def test_a_missing_hash_is_found() -> None:
    assert list(unhashed("a==1 \\\n    --hash=sha256:00\nb==2\n")) == ["b"]


def test_a_registry_is_found() -> None:
    marks = [
        "--index-url https://example.org/simple",
        "-f wheels",
        "--find-links=wheels",
        "x @ https://example.org/x",
    ]
    assert registry_marks("\n".join([*marks, "a==1 ; python_version < '4'"])) == marks
