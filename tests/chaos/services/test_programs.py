import os
from pathlib import Path

import pytest

from chaos.services.account import Account
from chaos.services.programs import postgres_programs, toxiproxy_program, valkey_program
from chaos.services.service import Unavailable


class Shut(Account):
    """Somebody who comes nowhere."""

    def reaches(self, path: Path) -> bool:
        return path == Path()


def test_programs_within_reach_are_run_where_they_lie(tmp_path: Path) -> None:
    assert (postgres_programs(None, tmp_path) / "initdb").is_file()
    assert os.access(valkey_program(None, tmp_path), os.X_OK)
    assert list(tmp_path.iterdir()) == []


def test_programs_out_of_reach_are_copied(tmp_path: Path) -> None:
    program = valkey_program(Shut(12345, 12345), tmp_path)
    assert program.is_relative_to(tmp_path)
    assert os.access(program, os.X_OK)


def test_a_toxiproxy_on_the_path_is_taken_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed, built = tmp_path / "toxiproxy-server", tmp_path / "built"
    for program in (installed, built):
        program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toxiproxy_program(built) == installed


def test_a_toxiproxy_that_was_built_is_taken_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = tmp_path / "built"
    built.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toxiproxy_program(built) == built


def test_a_toxiproxy_that_is_nowhere_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match=r"run \.ci/install-toxiproxy"):
        toxiproxy_program(tmp_path / "built")
