"""What stands in the text: open work with its issue, limits with their reason, migrations in order."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.tidy.source import Source, sources

MARKS = ("TO" + "DO", "FIX" + "ME", "XX" + "X")  # in pieces, or this file would hold what it looks for
OPEN_WORK = re.compile(rf"\b({'|'.join(MARKS)})\b(?!\(#\d+\))")
LIMIT = re.compile(r"^_?[A-Z][A-Z0-9_]*_(MAX|MIN|LIMIT)(_[A-Z]+)?$")
MIGRATION = re.compile(r"^(\d{4})_[a-z]+_[a-z0-9_]+\.sql$")


def open_work(tree: Iterable[Source]) -> Iterator[str]:
    for source in tree:
        for number, line in enumerate(source.text.splitlines(), 1):
            if OPEN_WORK.search(line):
                yield f"{source.path}:{number}"


def bare_limits(tree: Iterable[Source]) -> Iterator[str]:
    for source in tree:
        lines = source.text.splitlines()
        for node, after in zip(source.tree.body, [*source.tree.body[1:], None], strict=True):
            name = _constant(node)
            if name and LIMIT.match(name) and not _explained(node, after, lines):
                yield f"{source.path}: {name}"


def _constant(node: ast.stmt) -> str | None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return None


def _explained(node: ast.stmt, after: ast.stmt | None, lines: list[str]) -> bool:
    """Tell whether a docstring stands below it, or a comment anywhere in its paragraph."""
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    while first > 0 and lines[first - 1].strip():
        first -= 1
    while last < len(lines) and lines[last].strip():
        last += 1
    documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    return documented or any("#" in line or line.startswith('"""') for line in lines[first:last])


def misnumbered(names: Iterable[str]) -> Iterator[str]:
    for expected, name in enumerate(sorted(names), 1):
        found = MIGRATION.match(name)
        if found is None or int(found[1]) != expected:
            yield name


def test_open_work_names_its_issue(root: Path) -> None:
    tree = sources(root, "ktms", "sim", "tests", "chaos", "release")
    assert list(open_work(tree)) == []


def test_every_limit_says_why(root: Path) -> None:
    assert list(bare_limits(sources(root, "ktms", "sim"))) == []


def test_migrations_are_numbered_without_gaps(root: Path) -> None:
    assert list(misnumbered(path.name for path in (root / "migrations").glob("*.sql"))) == []


def test_work_without_an_issue_is_found() -> None:
    text = "".join(f"# {mark} later\n# {mark}(#12) with an issue\n" for mark in MARKS)
    assert list(open_work([Source("ktms/x.py", text)])) == ["ktms/x.py:1", "ktms/x.py:3", "ktms/x.py:5"]


def test_a_bare_limit_is_found() -> None:
    text = 'A_MAX_S = 1\n\nB_MAX = 2  # why\n\n# why\nC_MIN = 3\n\nD_MAX: int = 4\n\n"""Why."""\nother = 5\n'
    assert list(bare_limits([Source("ktms/x.py", text)])) == ["ktms/x.py: A_MAX_S"]


def test_a_gap_a_double_and_a_bad_name_of_migrations_are_found() -> None:
    names = ["0001_create_keys.sql", "0003_add_nodes.sql", "0003_add_spend.sql", "0005_Tables.sql"]
    assert list(misnumbered(names)) == ["0003_add_nodes.sql", "0005_Tables.sql"]
