"""Files and batches put together, with what is too large for the loop that others share."""

import pytest

from ktms.app.batch_parts import BatchSettings
from ktms.domain.batch.batch import LINE_BYTES_MAX, LINES_MAX
from ktms.domain.batch.state import BatchState
from ktms.engine.batch_examiner import TOO_MANY
from tests.engine.batch_yard import text_of
from tests.engine.test_batch_examiner import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_defaults_are_the_documented_ones() -> None:
    mib = 1024 * 1024
    assert BatchSettings() == BatchSettings(200 * mib, 20_000 * mib, lines_max=16, keep_s=30 * 86_400.0)


async def test_a_line_that_is_too_long_fails_by_itself(stage: Stage) -> None:
    found = await stage.examined(text_of("a") + b"x" * (LINE_BYTES_MAX + 1) + b"\n" + text_of("b"))
    assert (found.total, found.failed) == (3, 1)


async def test_a_file_with_too_many_lines_is_refused_whole(stage: Stage) -> None:
    found = await stage.examined(b"x\n" * (LINES_MAX + 1))
    assert (found.state, found.total, found.complaints) == (BatchState.FAILED, 0, (TOO_MANY,))


async def test_as_many_lines_as_may_be_are_taken(stage: Stage) -> None:
    found = await stage.examined(b"x\n" * LINES_MAX)
    assert (found.state, found.total, found.failed) == (BatchState.IN_PROGRESS, LINES_MAX, LINES_MAX)
