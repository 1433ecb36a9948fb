"""The command that makes the documents of failures."""

from pathlib import Path

from sim.registry.alert_rules import DOCUMENT, FILE, rules
from sim.registry.picture import FILE as PICTURE
from tests.sim.cli.shell import sim

FILES = (DOCUMENT, PICTURE, FILE)


def test_without_an_option_the_document_is_printed() -> None:
    done = sim("failures")
    assert (done.exit_code, "### FR1\n" in done.stdout) == (0, True)


def test_alerts_are_printed_as_rules() -> None:
    assert sim("failures", "--alerts").stdout == rules()


def test_what_was_written_is_what_the_registry_gives(tmp_path: Path) -> None:
    done = sim("failures", "--write", "--folder", str(tmp_path))
    assert done.stdout.splitlines() == [f"written: {name}" for name in FILES]
    assert sim("failures", "--check", "--folder", str(tmp_path)).exit_code == 0


def test_a_second_writing_writes_nothing(tmp_path: Path) -> None:
    sim("failures", "--write", "--folder", str(tmp_path))
    assert sim("failures", "--write", "--folder", str(tmp_path)).stdout == ""


def test_a_file_that_differs_is_named_with_what_to_do(tmp_path: Path) -> None:
    sim("failures", "--write", "--folder", str(tmp_path))
    (tmp_path / FILE).write_text("groups: []\n")
    done = sim("failures", "--check", "--folder", str(tmp_path))
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert f"{FILE} is not what the registry gives: `python -m sim failures --write`" in done.stderr


def test_files_that_are_missing_differ(tmp_path: Path) -> None:
    assert sim("failures", "--check", "--folder", str(tmp_path)).exit_code == 1


def test_two_things_at_once_are_refused() -> None:
    assert sim("failures", "--write", "--check").exit_code == 2


def test_a_folder_that_takes_no_files_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "docs").write_text("in the way")
    done = sim("failures", "--write", "--folder", str(tmp_path))
    assert (done.exit_code, "cannot be written" in done.stderr) == (2, True)
