"""Files have 400 lines at most, functions 50; exceptions name their reason here, the limits are never raised."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.tidy.source import Source, sources

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50
EXCEPTIONS: dict[str, str] = {}


def too_long(tree: Iterable[Source]) -> Iterator[str]:
    for source in tree:
        lines = source.text.count("\n")
        if lines > FILE_LINES_MAX:
            yield f"{source.path}: {lines} lines"
        for function in source.functions():
            length = (function.end_lineno or function.lineno) - function.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield f"{source.path}: {function.name} has {length} lines"


def test_no_file_and_no_function_is_too_long(root: Path) -> None:
    found = too_long(sources(root, "ktms", "sim", "tests", "chaos", "release"))
    assert [complaint for complaint in found if complaint.split(":")[0] not in EXCEPTIONS] == []


def test_a_file_of_401_lines_is_found() -> None:
    assert list(too_long([Source("ktms/long.py", "x = 1\n" * 401)])) == ["ktms/long.py: 401 lines"]


def test_a_function_of_51_lines_is_found() -> None:
    text = "async def long():\n" + "    x = 1\n" * 50
    assert list(too_long([Source("ktms/long.py", text)])) == ["ktms/long.py: long has 51 lines"]
