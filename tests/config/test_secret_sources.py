from collections.abc import Callable
from pathlib import Path

import pytest

from ktms.config.gateway_entries import SecretSource
from ktms.config.secret_file import ReadFile, SecretFile
from ktms.config.secret_sources import SecretMissing, SecretSources
from ktms.domain.access.secret import Secret

Files = Callable[..., ReadFile]


def test_a_secret_comes_from_the_environment(files: Files) -> None:
    sources = SecretSources({"KEY": "s"}, files(), Path("/etc"))
    assert sources.open(SecretSource(env="KEY")).reveal() == "s"


def test_a_secret_stands_in_the_file_itself(files: Files) -> None:
    assert SecretSources({}, files(), Path("/etc")).open(SecretSource(value="s")).reveal() == "s"


def test_a_relative_path_starts_at_the_gateway_file() -> None:
    asked: list[Path] = []

    def read(path: Path) -> SecretFile:
        asked.append(path)
        return SecretFile(Secret("s"), 0o600)

    SecretSources({}, read, Path("/etc/ktms")).open(SecretSource(file="key"))
    assert asked == [Path("/etc/ktms/key")]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (SecretSource(), "give exactly one of env, file, value (got none)"),
        (SecretSource(env="A", value="canary"), "give exactly one of env, file, value (got env and value)"),
        (SecretSource(env="GONE"), "environment variable GONE is not set"),
        (SecretSource(env="EMPTY"), "environment variable EMPTY is not set"),
        (SecretSource(file="gone"), "cannot read /etc/gone: No such file or directory"),
        (SecretSource(file="none"), "/etc/none is empty"),
    ],
)
def test_a_source_that_gives_nothing_says_why(files: Files, source: SecretSource, said: str) -> None:
    sources = SecretSources({"EMPTY": ""}, files(none=("", 0o600)), Path("/etc"))
    with pytest.raises(SecretMissing) as missing:
        sources.open(source)
    assert str(missing.value) == said
