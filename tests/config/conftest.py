"""What the tests of this room share: an environment and files that are only a dictionary."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ktms.config.secret_file import ReadFile, SecretFile, SecretFileUnreadable
from ktms.domain.access.secret import Secret


@pytest.fixture
def files() -> Callable[..., ReadFile]:
    """Make a reader over files given as path -> (content, mode)."""

    def make(**contents: tuple[str, int]) -> ReadFile:
        def read(path: Path) -> SecretFile:
            if path.name not in contents:
                raise SecretFileUnreadable(f"cannot read {path}: No such file or directory")
            content, mode = contents[path.name]
            return SecretFile(Secret(content), mode)

        return read

    return make
