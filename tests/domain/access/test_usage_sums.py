from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.access.usage_report import Dimension, UsageQuery, UsageRow
from ktms.domain.access.usage_sums import (
    DAY_S,
    day_of,
    day_text,
    group_of,
    matches,
    month_begins,
    month_of,
    saved_picos,
    total_of,
    with_event,
)
from ktms.domain.conversation.usage import Usage
from ktms.domain.ids import LOCAL, KeyId, ModelName, NodeName, TenantName, VendorName
from tests.usage_events import AT_S, usage_event

DAY = int(AT_S // DAY_S)


@pytest.mark.parametrize(
    ("day", "text", "month", "begins"),
    [
        (0, "1970-01-01", 1970 * 12, 0),
        (58, "1970-02-28", 1970 * 12 + 1, 31),
        (DAY, "2026-09-21", 2026 * 12 + 8, 20697),
    ],
)
def test_days_are_counted_from_1970(day: int, text: str, month: int, begins: int) -> None:
    assert (day_text(day), month_of(day), month_begins(day)) == (text, month, begins)


@given(st.integers(0, 100_000))
def test_a_month_begins_in_itself_and_the_day_before_is_another(day: int) -> None:
    first = month_begins(day)
    assert first <= day
    assert month_of(first) == month_of(day) != month_of(first - 1)


def test_a_call_over_midnight_counts_for_the_day_it_ended() -> None:
    assert day_of(usage_event(1, started_at=DAY_S - 1.0, duration_s=2.0)) == 1


@pytest.mark.parametrize(
    ("members", "saved"),
    [
        ({"node": NodeName("mac-1"), "cost_picos": 3, "cloud_picos": 10}, 7),
        ({"node": NodeName("mac-1"), "cost_picos": 12, "cloud_picos": 10}, -2),
        ({"node": NodeName("mac-1"), "cost_picos": 3, "cloud_picos": None}, 0),
        ({"from_cache": True, "cost_picos": 0, "cloud_picos": 10}, 10),
        ({"cost_picos": 3, "cloud_picos": 10}, 0),
    ],
    ids=str,
)
def test_only_our_machines_and_the_cache_save(members: dict[str, Any], saved: int) -> None:
    assert saved_picos(usage_event(1, **members)) == saved


def test_an_event_has_a_value_in_every_dimension() -> None:
    event = usage_event(1, node=NodeName("mac-1"), vendor=LOCAL)
    values = (day_text(DAY), "default", "0123456789", "small", "local", "mac-1")
    assert group_of(event, tuple(Dimension)) == values
    assert group_of(usage_event(1), (Dimension.NODE,)) == ("",)


@pytest.mark.parametrize(
    "query",
    [
        UsageQuery(DAY + 1, DAY + 2),
        UsageQuery(DAY - 1, DAY),
        UsageQuery(0, DAY + 1, tenant="other"),
        UsageQuery(0, DAY + 1, key_id="other"),
        UsageQuery(0, DAY + 1, model="other"),
        UsageQuery(0, DAY + 1, vendor="other"),
    ],
    ids=str,
)
def test_a_question_about_something_else_is_not_about_this(query: UsageQuery) -> None:
    assert not matches(query, usage_event(1))


def test_a_question_that_names_all_of_it_is_about_this() -> None:
    event = usage_event(1, tenant=TenantName("a"), key_id=KeyId("k"), model=ModelName("m"), vendor=VendorName("v"))
    assert matches(UsageQuery(DAY, DAY + 1, tenant="a", key_id="k", model="m", vendor="v"), event)


@pytest.mark.parametrize(
    "query",
    [
        UsageQuery(DAY, DAY + 1),
        UsageQuery(DAY, DAY + 1, tenant="a"),
        UsageQuery(DAY, DAY + 1, key_id="k"),
        UsageQuery(DAY, DAY + 1, model="m"),
        UsageQuery(DAY, DAY + 1, vendor="v"),
    ],
    ids=str,
)
def test_what_a_question_leaves_open_may_be_anything(query: UsageQuery) -> None:
    event = usage_event(1, tenant=TenantName("a"), key_id=KeyId("k"), model=ModelName("m"), vendor=VendorName("v"))
    assert matches(query, event)


def test_a_row_adds_up_what_its_events_say() -> None:
    failed = usage_event(1, status=AttemptStatus.FAILED, usage=Usage(1, 2, 3, 4, 5, estimated=True), cost_picos=6)
    kept = usage_event(2, usage=Usage(10, 20, 30, 40, 50), from_cache=True, cost_picos=0, cloud_picos=7)
    row = UsageRow(("x",))
    for event in (failed, kept, kept):
        row = with_event(row, event)
    assert row == UsageRow(("x",), 3, 1, 21, 63, 84, 42, 105, 1, 6, 14)


def test_a_total_is_the_sum_of_its_rows() -> None:
    rows = [
        UsageRow(("a",), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
        UsageRow(("b",), 10, 20, 30, 40, 50, 60, 70, 80, 90, -1),
    ]
    assert total_of(rows) == UsageRow((), 11, 22, 33, 44, 55, 66, 77, 88, 99, 9)
    assert total_of([]) == UsageRow(())
