"""What is seen of output that is no answer is not blind."""

import pytest

from sim.scenarios.targets.malformed import BUFFERED_MAX_BYTES
from tests.sim.scenarios.targets.worlds_made import doctored, ran, shown


def test_buffers_without_bound_show() -> None:
    journal = doctored(ran("FV9", 0).journal, "sample", buffered_bytes=BUFFERED_MAX_BYTES)
    assert shown("FV9", journal) == set()


def test_a_world_without_calls_beside_shows_nothing() -> None:
    assert shown("FV9", doctored(ran("FV9", 0).journal, "call_sent", placement="cloud_only")) == set()


@pytest.mark.parametrize(
    ("kind", "members"),
    [("usage", {"estimated": False}), ("call_ended", {"models": "other-model-1"}), ("told", {"how": "whole"})],
)
def test_each_part_of_the_script_counts(kind: str, members: dict[str, str | bool]) -> None:
    assert shown("S38", doctored(ran("S38", 0).journal, kind, **members)) == set()
