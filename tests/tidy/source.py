"""Python sources as the tidy checks read them: path, text and syntax tree.

A check is a function from sources to complaints, so the same function judges the checkout and a bad sample.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

GENERATED = ("_pb2.py", "_pb2_grpc.py")
"""Endings of modules that a tool writes: their style is the tool's."""

FOREIGN = {".venv", "node_modules", "__pycache__", "build", "dist"}
"""Folders whose content is not ours."""


@dataclass(frozen=True)
class Source:
    """One module. `path` is relative to the checkout, with slashes."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        return _parsed(self.text)

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def imported(self) -> set[str]:
        """Give every dotted name imported, modules and what is taken from them alike."""
        names: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        return names


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def sources(root: Path, *folders: str) -> list[Source]:
    """Read all modules of our own below these folders of the checkout, in a fixed order."""
    return [
        Source(path.relative_to(root).as_posix(), path.read_text())
        for folder in folders
        for path in sorted((root / folder).rglob("*.py"))
        if not path.name.endswith(GENERATED) and not FOREIGN & set(path.relative_to(root).parts)
    ]
