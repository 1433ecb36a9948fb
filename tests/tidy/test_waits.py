"""Tests wait for facts, never for time: a sleep that is long enough today is too short tomorrow."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.tidy.source import Source, sources

FAKES = ("/fakes/", "/world/", "/perf/", "tests/sim/")
"""A fake engine or vendor may take its time, and a benchmark measures time: there it is the subject.

Under `tests/sim` time is virtual: a sleep takes no time, it says when something happens.
"""


def sleeps(tests: Iterable[Source]) -> Iterator[str]:
    for source in tests:
        if any(folder in source.path for folder in FAKES):
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and _sleeps(node):
                yield f"{source.path}:{node.lineno}"


def _sleeps(call: ast.Call) -> bool:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr="sleep")):
            return True
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="asyncio"), attr="sleep"), args=[ast.Constant(value=0)]
        ):
            return False
        case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr="sleep")):
            return True
        case ast.Call(func=ast.Name(id="sleep")):
            return True
        case _:
            return False


def test_no_test_sleeps(root: Path) -> None:
    assert list(sleeps(sources(root, "tests"))) == []


def test_a_sleep_is_found_in_every_form() -> None:
    forms = ("time.sleep(1)", "asyncio.sleep(0.1)", "asyncio.sleep(0)", "sleep(2)", "asyncio.sleep(pause)")
    found = sleeps([Source("tests/test_x.py", "\n".join(forms))])
    assert sorted(found) == [f"tests/test_x.py:{line}" for line in (1, 2, 4, 5)]


def test_a_fake_may_take_its_time() -> None:
    assert list(sleeps([Source("tests/fakes/engine.py", "async def f():\n    await asyncio.sleep(1)\n")])) == []
