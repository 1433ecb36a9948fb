"""The checkout under test, and a scratch tree in which a rule can be broken on purpose."""

from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def plant(tmp_path: Path) -> Callable[..., Path]:
    """Write files into a scratch tree: `plant({"ktms/a.py": "text"})` gives the tree's root."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write
