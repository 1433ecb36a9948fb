import pytest

from ktms.config.batch_settings import BatchLimits, read_batch_limits
from ktms.config.secret_file import read_secret_file
from ktms.config.variables import Variables


def read(**variables: str) -> tuple[BatchLimits, Variables]:
    found = Variables({f"KTMS_{name}": value for name, value in variables.items()}, read_secret_file)
    return read_batch_limits(found), found


def test_every_name_is_read() -> None:
    limits, _ = read(FILE_MAX_MB="1", FILES_PER_KEY_MB="2", BATCH_LINES_MAX="3", BATCH_KEEP_DAYS="4")
    assert limits == BatchLimits(1, 2, 3, 4)


def test_defaults_are_the_documented_ones() -> None:
    assert read()[0] == BatchLimits(200, 20_000, 16, 30)


@pytest.mark.parametrize(
    ("name", "value"),
    [("FILES_PER_KEY_MB", "0"), ("FILE_MAX_MB", "2001"), ("BATCH_LINES_MAX", "x"), ("BATCH_KEEP_DAYS", "1")],
)
def test_what_cannot_be_is_refused(name: str, value: str) -> None:
    assert read(**{name: value})[1].has_refused(name)
