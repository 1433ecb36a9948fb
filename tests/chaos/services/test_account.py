import os
from pathlib import Path

from chaos.services.account import Account, unprivileged


def test_only_root_needs_somebody_else() -> None:
    assert (unprivileged() is None) == (os.geteuid() != 0)


def test_a_file_below_a_closed_folder_is_out_of_reach(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    program = closed / "program"
    program.touch(mode=0o755)
    assert not Account(12345, 12345).reaches(program)


def test_programs_of_the_system_are_within_reach() -> None:
    assert Account(12345, 12345).reaches(Path("/bin/sh"))
