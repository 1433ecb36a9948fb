"""No module lies about that nobody imports: the product or the simulator does, or it is an entry point.

Fakes (`adapters/memory`) exist for tests and worlds, so for them a test counts.
"""

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.tidy.source import Source, sources

EXCEPTIONS: dict[str, str] = {}
FAKES = "ktms/adapters/memory/"


def entry_points(root: Path) -> set[str]:
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    return {target.partition(":")[0] for target in scripts.values()}


def orphans(product: Iterable[Source], tests: Iterable[Source], entries: set[str]) -> Iterator[str]:
    product = list(product)
    importers = {name: source.path for source in product for name in source.imported()}
    in_tests = {name for test in tests for name in test.imported()}
    for source in product:
        wanted = source.module in importers or source.module in entries
        wanted |= source.path.startswith(FAKES) and source.module in in_tests
        if not wanted and not source.path.endswith(("__init__.py", "__main__.py")):
            yield source.path


def test_every_module_is_imported_by_somebody(root: Path) -> None:
    found = orphans(sources(root, "ktms", "sim"), sources(root, "tests"), entry_points(root))
    assert sorted(set(found) - set(EXCEPTIONS)) == []


def test_a_module_that_only_tests_import_is_found() -> None:
    product = [Source("ktms/engine/lost.py", "")]
    assert list(orphans(product, [Source("tests/test_lost.py", "import ktms.engine.lost")], set())) == [
        "ktms/engine/lost.py"
    ]


def test_a_fake_may_be_for_tests_alone() -> None:
    product = [Source("ktms/adapters/memory/clock.py", "")]
    tests = [Source("tests/test_x.py", "from ktms.adapters.memory.clock import StillClock")]
    assert list(orphans(product, tests, set())) == []


def test_an_entry_point_needs_no_importer() -> None:
    assert list(orphans([Source("ktms/app/cli/main.py", "")], [], {"ktms.app.cli.main"})) == []
