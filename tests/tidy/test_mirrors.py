"""Every module with logic of its own is tested by a file that mirrors it or imports it; every port has its suite.

A module of shapes only (fields, enums, Protocols, aliases) has no logic and needs no test.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.tidy.source import Source, sources

UNTESTED: dict[str, str] = {}
WITHOUT_SUITE: dict[str, str] = {}


BRANCHES = ast.If | ast.IfExp | ast.For | ast.While | ast.Try | ast.Match | ast.comprehension


def has_logic(source: Source) -> bool:
    return any(not _is_shape(function) for function in source.functions())


def _is_shape(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether it only declares: a docstring, an ellipsis, or a constructor or repr without a branch."""
    if function.name in {"__init__", "__repr__"}:
        return not any(isinstance(node, BRANCHES) for node in ast.walk(function))
    return all(isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) for part in function.body)


def untested(product: Iterable[Source], tests: Iterable[Source]) -> Iterator[str]:
    tests = list(tests)
    paths = {test.path for test in tests}
    imported = {name for test in tests if "/test_" in test.path for name in test.imported()}
    for source in product:
        folder, _, name = source.path.removeprefix("ktms/").rpartition("/")
        mirror = "/".join(part for part in ("tests", folder, f"test_{name}") if part)
        if has_logic(source) and mirror not in paths and source.module not in imported:
            yield source.path


def ports_without_suite(ports: Iterable[Source], tests: Iterable[Source]) -> Iterator[str]:
    paths = {test.path for test in tests}
    for port in ports:
        name = port.path.rpartition("/")[2]
        declares = any(isinstance(node, ast.Name) and node.id == "Protocol" for node in ast.walk(port.tree))
        if declares and f"tests/contracts/test_{name}" not in paths:
            yield port.path


def test_every_module_with_logic_has_its_test(root: Path) -> None:
    found = set(untested(sources(root, "ktms"), sources(root, "tests")))
    assert sorted(found - set(UNTESTED)) == []


def test_every_port_has_a_contract_suite(root: Path) -> None:
    found = set(ports_without_suite(sources(root, "ktms/ports"), sources(root, "tests/contracts")))
    assert sorted(found - set(WITHOUT_SUITE)) == []


def test_a_module_with_logic_and_no_test_is_found() -> None:
    product = [Source("ktms/engine/new.py", "def f():\n    return 1\n")]
    assert list(untested(product, [Source("tests/engine/test_old.py", "import ktms.engine.old")])) == [
        "ktms/engine/new.py"
    ]


def test_a_mirror_by_name_is_enough() -> None:
    product = [Source("ktms/engine/new.py", "def f():\n    return 1\n")]
    assert list(untested(product, [Source("tests/engine/test_new.py", "")])) == []


def test_a_test_that_imports_the_module_is_enough() -> None:
    product = [Source("ktms/engine/new.py", "def f():\n    return 1\n")]
    assert list(untested(product, [Source("tests/engine/test_life.py", "from ktms.engine.new import f")])) == []


def test_shapes_and_protocols_have_no_logic() -> None:
    text = (
        'class P(Protocol):\n    def f(self) -> int:\n        """Give it."""\n        ...\nclass S:\n    x: int\n'
    )
    assert not has_logic(Source("ktms/ports/p.py", text))


def test_a_port_without_a_suite_is_found() -> None:
    assert list(ports_without_suite([Source("ktms/ports/p.py", "class P(Protocol): ...")], [])) == [
        "ktms/ports/p.py"
    ]
