import errno
import io
import os
import sys
from collections.abc import Callable

import pytest

from ktms.app.cli.failed import CommandFailed
from ktms.app.cli.screen import clean, put, put_json, put_raw, put_table, say


def test_control_characters_become_question_marks() -> None:
    assert clean("a\x1b[31mb\rc\x07\x9b").plain == "a?[31mb?c??"


def test_line_ends_stay() -> None:
    assert clean("a\nb").plain == "a\nb"


def test_markup_of_others_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    put("[bold]x[/bold]")
    assert capsys.readouterr().out == "[bold]x[/bold]\n"


class Full(io.StringIO):
    """Takes nothing, as a full disk does."""

    def write(self, text: str) -> int:
        if text:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return 0


WRITES: dict[str, Callable[[], None]] = {
    "text": lambda: put("x"),
    "bytes": lambda: put_raw("x\n"),
    "json": lambda: put_json({}),
    "table": lambda: put_table(("name",), [("x",)]),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_an_output_that_takes_no_more_ends_the_command_with_a_line(
    write: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(CommandFailed) as failed:
        write()
    assert failed.value.lines == ("standard output cannot be written to: No space left on device",)
    write()  # what comes after it, such as the flush at the end of the process, fails no more


def test_a_reader_that_has_left_is_no_failure_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    left = Full()
    monkeypatch.setattr(left, "write", _left)
    monkeypatch.setattr(sys, "stdout", left)
    with pytest.raises(BrokenPipeError):
        put_raw("x\n")


def _left(_text: str) -> int:
    raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def test_what_is_said_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    say("x")
    assert capsys.readouterr() == ("", "x\n")


def test_a_long_line_is_not_broken(capsys: pytest.CaptureFixture[str]) -> None:
    put("x" * 500)
    assert capsys.readouterr().out == "x" * 500 + "\n"


def test_a_cell_with_markup_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    put_table(("name",), [("[link=x]y",)])
    assert "[link=x]y" in capsys.readouterr().out


def test_a_table_that_is_piped_has_no_blanks_at_the_ends_of_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    put_table(("name", "state"), [("a", "live"), ("longer", "")])
    assert capsys.readouterr().out == "name    state\na       live\nlonger\n"
