from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.adapters.memory.clock import ManualClock
from ktms.api.wire import Dates, head_of

DATES = Dates(ManualClock(wall=1_790_000_000.5))


def head(*headers: tuple[str, str], keeps: bool = True, http10: bool = False, status: int = 200) -> bytes:
    return head_of(status, headers, DATES, framing="Content-Length: 0\r\n", keeps=keeps, http10=http10)


def test_a_head_has_its_status_date_framing_and_headers_in_order() -> None:
    assert head(("X-A", "1"), ("X-B", "2")) == (
        b"HTTP/1.1 200 OK\r\nDate: Mon, 21 Sep 2026 14:13:20 GMT\r\nContent-Length: 0\r\nX-A: 1\r\nX-B: 2\r\n\r\n"
    )


@given(st.text(max_size=50), st.text(max_size=50))
def test_no_value_ever_splits_a_head(first: str, second: str) -> None:
    made = head(("X-A", first), ("X-B", second))
    assert made.endswith(b"\r\n\r\n")
    assert made.count(b"\r\n") == 6
    assert made.count(b"\n") == made.count(b"\r") == 6
    assert b"\x00" not in made


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\x00b"])
def test_line_ends_and_nul_become_spaces(value: str) -> None:
    assert b"X-A: a " in head(("X-A", value))


def test_letters_that_no_header_can_carry_are_replaced() -> None:
    assert b"X-A: ?\r\n" in head(("X-A", "ж"))


@pytest.mark.parametrize(("status", "phrase"), [(413, b"Entity Too Large"), (599, b"")])
def test_a_status_has_its_phrase_or_none(status: int, phrase: bytes) -> None:
    line = head(status=status).split(b"\r\n")[0]
    assert line.startswith(b"HTTP/1.1 %d " % status)
    assert phrase in line


def test_a_connection_that_ends_says_so() -> None:
    assert b"Connection: close\r\n" in head(keeps=False)
    assert b"Connection: close\r\n" in head(keeps=False, http10=True)


def test_a_connection_that_stays_says_so_to_older_clients_alone() -> None:
    assert b"Connection" not in head()
    assert b"Connection: keep-alive\r\n" in head(http10=True)


def test_the_date_moves_with_the_clock_and_is_made_once_a_second() -> None:
    clock = ManualClock(wall=1_790_000_000.2)
    dates = Dates(clock)
    first = dates.line()
    clock.advance(0.7)
    assert dates.line() is first
    clock.advance(0.2)
    assert dates.line() != first


def test_the_date_follows_a_clock_that_is_set_back() -> None:
    clock = ManualClock(wall=1_790_000_000)
    dates = Dates(clock)
    dates.line()
    clock.jump_wall(-3600)
    told = parsedate_to_datetime(dates.line().removeprefix("Date: ").strip())
    assert told == datetime.fromtimestamp(1_790_000_000 - 3600, UTC)
