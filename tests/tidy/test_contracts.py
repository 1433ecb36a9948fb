"""Each import contract breaks when its rule is broken: one wrong import in a copy of the rooms fails the build.

The copy has every module of the tree with nothing in it, so only the planted import can be at fault.
"""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

PLANTED = {
    "rooms": [
        ("ktms.domain.units", "ktms.ports.clock"),
        ("ktms.dialects.planted", "ktms.vendors"),
        ("ktms.vendors.openai", "ktms.ports.clock"),
        ("ktms.engine.planted", "ktms.adapters.memory"),
        ("ktms.engine.planted", "ktms.api"),
        ("ktms.api.planted", "ktms.adapters.memory"),
        ("ktms.adapters.redis.planted", "ktms.config"),
        ("ktms.adapters.redis.planted", "ktms.app"),
    ],
    "domain-pure": [
        ("ktms.domain.units", name) for name in ("asyncio", "time", "random", "uuid", "os", "msgspec")
    ],
    "dialects-pure": [("ktms.dialects.planted", "aiohttp"), ("ktms.vendors.openai", "asyncio")],
    "ports-bare": [("ktms.ports.clock", "ktms.dialects"), ("ktms.ports.clock", "redis")],
    "engine-ports": [("ktms.engine.planted", name) for name in ("aiohttp", "redis", "asyncpg", "grpc", "random")],
    "doors-technology": [("ktms.api.planted", "asyncpg"), ("ktms.config.planted", "redis")],
    "doors-apart": [("ktms.api.openai.planted", "ktms.api.health")],
    "adapters-apart": [("ktms.adapters.redis.planted", "ktms.adapters.memory")],
    "vendors-apart": [("ktms.vendors.openai", "ktms.vendors.ollama")],
    "assembly-blind": [
        ("ktms.app.assemble", "ktms.adapters.memory"),
        ("ktms.app.assemble", "ktms.api.admin_grpc"),
    ],
    "node-light": [
        ("ktms.node.planted", name) for name in ("ktms.adapters.memory", "ktms.dialects", "msgspec", "click")
    ],
    "product-alone": [("ktms.app.planted", name) for name in ("sim", "chaos", "tests", "release")],
    "judges-alone": [("sim.journal.fact", "ktms.domain"), ("sim.checkers.marks", "redis")],
    "sim-floors": [("sim.seed", "sim.draft"), ("sim.fakes.steps", "sim.network"), ("sim.loop", "sim.world")],
    "chaos-outside": [("chaos.services.service", "ktms.domain"), ("chaos.proxy.proxy", "tests")],
    "chaos-floors": [("chaos.services.service", "chaos.proxy"), ("chaos.proxy.proxy", "chaos.stand")],
    "sim-rooms": [
        ("sim.planted", name)
        for name in ("asyncpg", "grpc", "ktms.api.admin_grpc", "ktms.adapters.postgres", "ktms.app.production")
    ],
}
"""Contract: wrong imports, each (importer, imported)."""


@pytest.fixture
def rooms(root: Path, tmp_path: Path) -> Path:
    for package in ("ktms", "sim", "chaos"):
        for module in (root / package).rglob("*.py"):
            copy = tmp_path / module.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.touch()
    (tmp_path / "pyproject.toml").write_text((root / "pyproject.toml").read_text())
    return tmp_path


def lint(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", *options]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def test_rooms_without_imports_keep_every_contract(rooms: Path) -> None:
    done = lint(rooms)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("contract", PLANTED)
def test_every_wrong_import_breaks_its_contract(rooms: Path, contract: str) -> None:
    for importer, imported in PLANTED[contract]:
        with (rooms / f"{importer.replace('.', '/')}.py").open("a") as module:
            module.write(f"import {imported}\n")
    done = lint(rooms, "--contract", contract)
    said = " ".join(done.stdout.split())  # long lines are folded
    assert (done.returncode, "1 broken" in said) == (1, True), done.stdout + done.stderr
    assert [wrong for wrong in PLANTED[contract] if " -> ".join(wrong) not in said] == []


@pytest.mark.parametrize(("room", "contract"), [("ktms/annex", "rooms"), ("ktms/vendors/annex", "vendors-apart")])
def test_a_new_room_without_a_place_breaks_the_build(rooms: Path, room: str, contract: str) -> None:
    (rooms / room).mkdir()
    (rooms / room / "__init__.py").touch()
    done = lint(rooms, "--contract", contract)
    assert (done.returncode, "annex" in done.stdout) == (1, True), done.stdout + done.stderr


def test_a_cycle_between_siblings_breaks_the_build(rooms: Path) -> None:
    (rooms / "ktms/engine/one.py").write_text("import ktms.engine.two\n")
    (rooms / "ktms/engine/two.py").write_text("import ktms.engine.one\n")
    done = lint(rooms, "--contract", "no-cycles")
    assert (done.returncode, "No cycles are allowed in ktms.engine" in done.stdout) == (1, True), done.stdout


@pytest.fixture
def contracts(root: Path) -> dict[str, Any]:
    tables = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return {table["id"]: table for table in tables}


def children(root: Path, package: str) -> set[str]:
    """Give the dotted names of the rooms and modules right inside a package."""
    folder = root / package.replace(".", "/")
    found = {path.parent for path in folder.glob("*/__init__.py")} | set(folder.glob("*.py"))
    return {f"{package}.{path.stem}" for path in found if path.stem != "__init__"}


def rooms_in(root: Path, package: str) -> set[str]:
    return {name for name in children(root, package) if (root / name.replace(".", "/")).is_dir()}


def test_every_contract_with_a_direction_is_broken_on_purpose(contracts: dict[str, Any]) -> None:
    assert set(contracts) - set(PLANTED) == {
        "dialects-apart",
        "no-cycles",
    }  # one dialect so far; see the cycle above


def test_every_door_is_kept_apart(root: Path, contracts: dict[str, Any]) -> None:
    assert set(contracts["doors-apart"]["modules"]) == rooms_in(root, "ktms.api")


def test_every_dialect_is_kept_apart_and_only_sse_and_json_are_shared(
    root: Path, contracts: dict[str, Any]
) -> None:
    dialects = set(contracts["dialects-apart"]["modules"])
    assert children(root, "ktms.dialects") == dialects | {"ktms.dialects.sse", "ktms.dialects.json"}


def test_the_simulated_world_may_use_three_adapters_and_no_other(root: Path, contracts: dict[str, Any]) -> None:
    allowed = {f"ktms.adapters.{name}" for name in ("memory", "redis", "upstream_http")}
    assert rooms_in(root, "ktms.adapters") - set(contracts["sim-rooms"]["forbidden_modules"]) == allowed


def test_no_contract_has_an_exception(contracts: dict[str, Any]) -> None:
    allowances = {"ignore_imports", "allow_indirect_imports", "exhaustive_ignores", "skip_descendants"}
    assert [name for name, contract in contracts.items() if allowances & set(contract)] == []
