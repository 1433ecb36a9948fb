"""The real machine behind the port: commands, files, the environment."""

import stat
import sys
from pathlib import Path

import pytest

from ktms.node.this_machine import ThisMachine


@pytest.fixture
def machine() -> ThisMachine:
    return ThisMachine()


def test_it_names_its_system_as_the_port_does(machine: ThisMachine) -> None:
    assert machine.system in {"linux", "darwin"}


def test_what_a_command_says_is_given_apart(machine: ThisMachine) -> None:
    program = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    ran = machine.run([sys.executable, "-c", program])
    assert (ran.code, ran.out, ran.err) == (3, "out\n", "err\n")


def test_a_command_reads_what_it_is_given_and_then_an_end(machine: ThisMachine) -> None:
    assert machine.run(["cat"], stdin="hello").out == "hello"


def test_a_command_that_does_not_exist_is_127(machine: ThisMachine) -> None:
    assert machine.run(["no-such-program-of-ours"]).code == 127


def test_a_file_that_is_no_program_is_126(machine: ThisMachine, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    assert machine.run([str(tmp_path / "text")]).code == 126


def test_a_command_that_does_not_end_is_ended(machine: ThisMachine) -> None:
    ran = machine.run(["sh", "-c", "echo began; exec tail -f /dev/null"], 1.0)
    assert (ran.code, ran.out) == (124, "began\n")


def test_programs_speak_english(machine: ThisMachine) -> None:
    assert machine.run(["sh", "-c", "echo $LC_ALL"]).out == "C\n"


def test_a_shell_is_never_asked(machine: ThisMachine) -> None:
    assert machine.run(["echo", "$HOME; true"]).out == "$HOME; true\n"


def test_what_is_written_is_read(machine: ThisMachine, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    machine.write(path, "text\n", 0o600)
    assert machine.read(path) == "text\n"


def test_the_mode_is_the_one_that_was_asked_for(machine: ThisMachine, tmp_path: Path) -> None:
    for mode in (0o600, 0o644, 0o755):
        machine.write(tmp_path / "file", "text", mode)
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(machine: ThisMachine, tmp_path: Path) -> None:
    machine.write(tmp_path / "file", "a longer text")
    machine.write(tmp_path / "file", "text")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["text"]


def test_where_nothing_can_be_written_nothing_is_left(machine: ThisMachine, tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="file"):
        machine.write(tmp_path / "file", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_that_is_not_there_is_none(machine: ThisMachine, tmp_path: Path) -> None:
    assert machine.read(tmp_path / "nothing") is None


def test_a_folder_is_no_file(machine: ThisMachine, tmp_path: Path) -> None:
    assert machine.read(tmp_path) is None
