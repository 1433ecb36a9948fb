"""How long a vendor asks us to wait (P37)."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.routing.cooldown import REST_MAX_S
from ktms.domain.routing.retry_after import retry_after_s

WALL = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT


def told(retry_after: str | None = None, ms: str | None = None, wall: float = WALL) -> float | None:
    return retry_after_s({"retry-after": retry_after, "retry-after-ms": ms}.get, wall)


@pytest.mark.parametrize("ahead_s", [-7200.0, 0.0, 7200.0])
def test_a_date_counts_from_the_answers_own_date_however_wrong_our_clock_is(ahead_s: float) -> None:
    headers = {"date": formatdate(WALL, usegmt=True), "retry-after": formatdate(WALL + 18, usegmt=True)}
    assert retry_after_s(headers.get, WALL + ahead_s) == 18.0


def test_a_date_counts_from_our_clock_where_the_answers_own_is_none() -> None:
    headers = {"date": "yesterday", "retry-after": formatdate(WALL + 18, usegmt=True)}
    assert retry_after_s(headers.get, WALL + 10) == 8.0


@pytest.mark.parametrize(("text", "seconds"), [("2", 2.0), ("0", 0.0), (" 7 ", 7.0), ("1.5", 1.5)])
def test_seconds_are_read(text: str, seconds: float) -> None:
    assert told(text) == seconds


def test_milliseconds_are_the_more_precise_word() -> None:
    assert told("2", ms="700") == 0.7
    assert told(ms="700") == 0.7


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:40 GMT",
        "Sunday, 06-Nov-94 08:49:40 GMT",
        "Sun Nov  6 08:49:40 1994",
        "Sun, 06 Nov 1994 09:49:40 +0100",
    ],
)
def test_all_forms_of_http_dates_are_read(text: str) -> None:
    assert told(text) == 3.0


def test_a_date_that_has_passed_is_now() -> None:
    assert told("Sun, 06 Nov 1994 08:49:00 GMT") == 0.0


@pytest.mark.parametrize(
    ("text", "ms"), [("86400", None), ("Sun, 06 Nov 2094 08:49:37 GMT", None), (None, "86400000")]
)
def test_the_rest_is_capped(text: str | None, ms: str | None) -> None:
    assert told(text, ms) == REST_MAX_S


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "abc",
        "-1",
        "+1",
        "1e3",
        "nan",
        "inf",
        "0x10",
        "9" * 400,
        "1,2",
        "soon, please wait a little while",
        "Sun, 06 Nov 12345678 08:49:37 GMT",
        "Sun, 99 Foo 1994 08:49:37 GMT",
        "Wed, 31 Feb 2026 08:49:37 GMT",
        "Wed, 25 Feb 2026 25:61:00 GMT",
        "aaaaa, : : : : : : : : : : : :",
    ],
)
def test_nonsense_is_nothing(text: str | None) -> None:
    assert told(text) is None


def test_nonsense_in_one_header_leaves_the_other() -> None:
    assert told("3", ms="-5") == 3.0


@given(st.integers(min_value=0, max_value=4_000_000_000), st.integers(min_value=-400, max_value=400))
def test_a_date_is_a_distance_from_now(wall: int, ahead_s: int) -> None:
    moment = max(0, wall + ahead_s)

    assert told(formatdate(moment, usegmt=True), wall=float(wall)) == min(REST_MAX_S, max(0, moment - wall))


@given(st.text(alphabet="SunNov0123456789:,-+ GMT", max_size=60), st.text(max_size=20))
def test_whatever_a_vendor_sends_is_a_bounded_number_or_nothing(text: str, ms: str) -> None:
    found = told(text, ms)

    assert found is None or 0 <= found <= REST_MAX_S
