import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ktms.adapters.telemetry.line_writer import HELD_BYTES_MAX, LineWriter

PATIENCE_S = 5.0
IMPATIENCE_S = 0.05
LINE = b"x" * 99 + b"\n"


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for fd in (reader, writer):
        try:
            os.close(fd)
        except OSError:
            continue


def read_all(reader: int) -> bytes:
    chunks = []
    while chunk := os.read(reader, 1 << 16):
        chunks.append(chunk)
    return b"".join(chunks)


def fill(writer: int) -> int:
    os.set_blocking(writer, False)
    written = 0
    try:
        while True:
            written += os.write(writer, b"y" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    return written


def test_lines_come_out_in_the_order_they_went_in(pipe: tuple[int, int]) -> None:
    lines = LineWriter(pipe[1])
    for number in range(100):
        lines.put(b"%d\n" % number)
    assert lines.close(PATIENCE_S)
    os.close(pipe[1])
    assert read_all(pipe[0]) == b"".join(b"%d\n" % number for number in range(100))


def test_a_full_pipe_does_not_hold_up_the_caller_and_what_does_not_fit_is_counted(pipe: tuple[int, int]) -> None:
    fill(pipe[1])
    lines = LineWriter(pipe[1])
    for _ in range(HELD_BYTES_MAX // len(LINE) + 10):
        lines.put(LINE)  # would hang here for ever if it wrote itself: nobody reads
    assert lines.dropped_total >= 10
    os.close(pipe[0])  # frees the writing thread
    lines.close(PATIENCE_S)


def test_a_stop_does_not_wait_for_a_reader_for_ever(pipe: tuple[int, int]) -> None:
    fill(pipe[1])
    lines = LineWriter(pipe[1])
    lines.put(LINE)
    assert not lines.close(IMPATIENCE_S)
    os.close(pipe[0])


def test_lines_left_behind_at_a_stop_are_counted(pipe: tuple[int, int]) -> None:
    fill(pipe[1])
    lines = LineWriter(pipe[1])
    lines.put(LINE * 1000, 1000)  # more than a pipe holds, so the thread is stuck in it or before it
    lines.put(LINE * 7, 7)
    lines.close(IMPATIENCE_S)
    assert lines.dropped_total >= 7
    os.close(pipe[0])


def test_lines_for_a_reader_that_is_gone_are_counted(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    lines = LineWriter(pipe[1])
    lines.put(LINE * 3, 3)
    lines.close(PATIENCE_S)
    assert lines.dropped_total == 3


def test_lines_after_the_stop_are_counted(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        lines = LineWriter(log.fileno())
        assert lines.close(PATIENCE_S)
        lines.put(LINE)
    assert lines.dropped_total == 1


def test_a_descriptor_in_non_blocking_mode_loses_nothing(pipe: tuple[int, int]) -> None:
    before = fill(pipe[1])
    os.set_blocking(pipe[1], False)
    lines = LineWriter(pipe[1])
    lines.put(LINE)
    assert len(os.read(pipe[0], before)) == before
    assert lines.close(PATIENCE_S)
    assert os.read(pipe[0], 4096) == LINE


def test_nothing_is_started_before_the_first_line(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        assert LineWriter(log.fileno()).close(0)
