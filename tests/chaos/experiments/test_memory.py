import os

from chaos.experiments.memory import memory_grown_mb, peak_bytes
from tests.chaos.experiments.story import RunStory


def test_what_a_process_had_once_is_remembered() -> None:
    before = peak_bytes(os.getpid())
    held = bytearray(b"x") * before
    del held
    assert peak_bytes(os.getpid()) > 1.5 * before > 1 << 20


def test_the_replica_that_grew_most_counts() -> None:
    story = RunStory()
    for host, values in (("gw1", (100e6, 130e6)), ("gw2", (90e6, 190e6))):
        for value in values:
            story.note(10.0, "gauge", host, name="memory_peak_bytes", label="", value=value)
    assert memory_grown_mb(story.over()) == 100.0


def test_where_nothing_was_noted_nothing_is_known() -> None:
    assert memory_grown_mb(RunStory().over()) == -1.0
