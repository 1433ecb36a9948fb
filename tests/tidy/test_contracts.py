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
    "domain imports asyncio": ("ktms/domain/units.py", "import asyncio", "domain-pure"),
    "domain imports time": ("ktms/domain/units.py", "import time", "domain-pure"),
    "domain imports msgspec": ("ktms/domain/units.py", "import msgspec", "domain-pure"),
    "domain imports a port": ("ktms/domain/units.py", "import ktms.ports.clock", "rooms"),
    "dialects import aiohttp": ("ktms/dialects/planted.py", "import aiohttp", "dialects-pure"),
    "dialects import vendors": ("ktms/dialects/planted.py", "import ktms.vendors", "rooms"),
    "vendors import asyncio": ("ktms/vendors/planted.py", "import asyncio", "dialects-pure"),
    "vendors import ports": ("ktms/vendors/planted.py", "import ktms.ports.clock", "rooms"),
    "a vendor imports another": ("ktms/vendors/openai.py", "import ktms.vendors.local", "vendors-apart"),
    "a new vendor without a place": ("ktms/vendors/annex.py", "", "vendors-apart"),
    "ports import dialects": ("ktms/ports/clock.py", "import ktms.dialects", "ports-bare"),
    "ports import redis": ("ktms/ports/clock.py", "import redis", "ports-bare"),
    "engine imports aiohttp": ("ktms/engine/planted.py", "import aiohttp", "engine-ports"),
    "engine imports random": ("ktms/engine/planted.py", "import random", "engine-ports"),
    "engine imports an adapter": ("ktms/engine/planted.py", "import ktms.adapters.memory", "rooms"),
    "engine imports the doors": ("ktms/engine/planted.py", "import ktms.api", "rooms"),
    "a door imports a driver": ("ktms/api/planted.py", "import asyncpg", "doors-technology"),
    "a door imports another door": ("ktms/api/openai/planted.py", "import ktms.api.health", "doors-apart"),
    "a door imports an adapter": ("ktms/api/planted.py", "import ktms.adapters.memory", "rooms"),
    "an adapter imports another": (
        "ktms/adapters/redis/planted.py",
        "import ktms.adapters.memory",
        "adapters-apart",
    ),
    "an adapter imports config": ("ktms/adapters/redis/planted.py", "import ktms.config", "rooms"),
    "an adapter imports app": ("ktms/adapters/redis/planted.py", "import ktms.app", "rooms"),
    "the assembly imports an adapter": ("ktms/app/assemble.py", "import ktms.adapters.memory", "assembly-blind"),
    "the assembly imports gRPC": ("ktms/app/assemble.py", "import ktms.api.admin_grpc", "assembly-blind"),
    "sim imports the production wiring": ("sim/planted.py", "import ktms.app.production", "sim-rooms"),
    "ktms imports sim": ("ktms/app/planted.py", "import sim", "product-alone"),
    "ktms imports tests": ("ktms/app/planted.py", "import tests", "product-alone"),
    "sim imports a driver": ("sim/planted.py", "import asyncpg", "sim-rooms"),
    "sim imports grpc": ("sim/planted.py", "import grpc", "sim-rooms"),
    "sim imports the admin door": ("sim/planted.py", "import ktms.api.admin_grpc", "sim-rooms"),
    "sim imports a real adapter": ("sim/planted.py", "import ktms.adapters.postgres", "sim-rooms"),
    "a new room without a place": ("ktms/annex/__init__.py", "", "rooms"),
    "two siblings in a cycle": ("ktms/engine/planted/__init__.py", "import ktms.engine.zz_other", "no-cycles"),
}
OTHER_HALF = {"two siblings in a cycle": ("ktms/engine/zz_other.py", "import ktms.engine.planted")}


@pytest.fixture
def rooms(root: Path, tmp_path: Path) -> Path:
    for package in ("ktms", "sim"):
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


@pytest.mark.parametrize("what", PLANTED)
def test_one_wrong_import_breaks_its_contract(rooms: Path, what: str) -> None:
    name, line, contract = PLANTED[what]
    for path, text in ((name, line), *([OTHER_HALF[what]] if what in OTHER_HALF else [])):
        (rooms / path).parent.mkdir(parents=True, exist_ok=True)
        (rooms / path).write_text(text + "\n")
    done = lint(rooms, "--contract", contract)
    assert (done.returncode, "1 broken" in done.stdout) == (1, True), done.stdout + done.stderr


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
