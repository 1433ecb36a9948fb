from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ktms.adapters.telemetry.stamp import Stamp


def test_a_stamp_is_utc_with_milliseconds() -> None:
    assert Stamp()(1_790_000_000.25) == "2026-09-21T14:13:20.250Z"


def test_milliseconds_never_carry_into_the_next_second() -> None:
    assert Stamp()(1_790_000_000.9999) == "2026-09-21T14:13:20.999Z"


@given(st.lists(st.floats(0, 4e9), min_size=1))
def test_a_stamp_does_not_depend_on_the_ones_before(walls: list[float]) -> None:
    stamp = Stamp()
    texts = [stamp(wall) for wall in walls]
    assert [text[:19] for text in texts] == [
        datetime.fromtimestamp(int(wall), UTC).isoformat()[:19] for wall in walls
    ]
