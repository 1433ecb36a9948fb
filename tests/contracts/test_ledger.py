"""Contract of `ktms/ports/ledger.py` and `ktms/ports/usage_reports.py`: one suite for every ledger."""

import asyncio
from typing import Any

import pytest

from ktms.domain.access.usage_event import AttemptStatus, BatchLine, UsageEvent
from ktms.domain.access.usage_report import Dimension, UsageQuery, UsageRow
from ktms.domain.access.usage_sums import day_of, day_text, month_of
from ktms.domain.conversation.usage import Usage
from ktms.domain.ids import LOCAL, KeyId, ModelName, NodeName, TenantName
from ktms.ports.ledger import LedgerAway
from tests.contracts.books_stage import Books
from tests.usage_events import AT_S, usage_event

DAY_S = 86_400
DAY = int(AT_S // DAY_S)
ALL = UsageQuery(0, 100_000)
BY_DAY = UsageQuery(0, 100_000, (Dimension.DAY,))


async def attempts(books: Books) -> int:
    return sum(row.attempts for row in await books.book.usage(ALL))


async def total(books: Books) -> UsageRow:
    (row,) = await books.book.usage(ALL)
    return row


async def test_an_event_that_was_sent_is_counted(books: Books) -> None:
    await books.book.send([usage_event(1)])
    assert await attempts(books) == 1


async def test_an_event_sent_again_counts_once(books: Books) -> None:
    for _ in range(3):
        await books.book.send([usage_event(1), usage_event(2)])
    assert await attempts(books) == 2


async def test_an_event_twice_in_one_batch_counts_once(books: Books) -> None:
    await books.book.send([usage_event(1), usage_event(1)])
    assert await attempts(books) == 1


async def test_what_is_new_in_a_repeated_batch_is_counted(books: Books) -> None:
    await books.book.send([usage_event(1), usage_event(2)])
    await books.book.send([usage_event(2), usage_event(3)])
    assert await attempts(books) == 3


async def test_the_order_in_which_batches_come_changes_no_sum(books: Books) -> None:
    events = [usage_event(number, at_s=AT_S + number * 7_000) for number in range(30)]
    await books.book.send(events[20:])
    await books.book.send(events[:10][::-1])
    await books.book.send(events)
    found = await books.book.usage(BY_DAY)
    days = [day_text(day_of(event)) for event in events]
    assert [(row.group, row.attempts) for row in found] == [((day,), days.count(day)) for day in sorted(set(days))]


async def test_batches_that_come_at_once_are_all_counted(books: Books) -> None:
    events = [usage_event(number) for number in range(200)]
    async with asyncio.TaskGroup() as group:
        for start in range(0, 200, 10):
            group.create_task(books.book.send(events[start : start + 20]))
    assert await attempts(books) == 200


async def test_every_amount_is_summed_exactly(books: Books) -> None:
    usage = Usage(7, 5, 3, 2, 1, estimated=True)
    huge = 9_000_000_000_000_000_000
    await books.book.send(
        [
            usage_event(1, usage=usage, cost_picos=huge, cloud_picos=None),
            usage_event(2, usage=usage, cost_picos=huge - 1, cloud_picos=None),
        ]
    )
    assert await total(books) == UsageRow(
        (),
        attempts=2,
        prompt_tokens=14,
        completion_tokens=10,
        cached_tokens=6,
        cache_write_tokens=4,
        reasoning_tokens=2,
        estimated=2,
        cost_picos=2 * huge - 1,
    )


async def test_our_machines_and_the_cache_save_what_the_cloud_would_have_cost(books: Books) -> None:
    own: dict[str, Any] = {"vendor": LOCAL, "node": NodeName("mac-1")}
    await books.book.send(
        [
            usage_event(1, cost_picos=10, cloud_picos=100, **own),
            usage_event(2, cost_picos=0, cloud_picos=100, from_cache=True),
            usage_event(3, cost_picos=100, cloud_picos=100),
            usage_event(4, cost_picos=10, cloud_picos=None, **own),
        ]
    )
    assert (await total(books)).saved_picos == 190


async def test_what_went_wrong_on_the_way_is_counted_as_failed(books: Books) -> None:
    await books.book.send([usage_event(number, status=status) for number, status in enumerate(AttemptStatus)])
    assert ((await total(books)).attempts, (await total(books)).failed) == (5, 2)


async def test_an_event_counts_for_the_day_on_which_it_was_settled(books: Books) -> None:
    late = (DAY + 1) * DAY_S - 0.25
    await books.book.send([usage_event(1, started_at=late, duration_s=0.1)])
    await books.book.send([usage_event(2, started_at=late, duration_s=0.5)])
    assert [row.group for row in await books.book.usage(BY_DAY)] == [(day_text(DAY),), (day_text(DAY + 1),)]


async def test_rows_are_told_apart_by_the_dimensions_in_their_order(books: Books) -> None:
    await books.book.send(
        [
            usage_event(1, tenant=TenantName("b")),
            usage_event(2, tenant=TenantName("a"), node=NodeName("mac-1"), vendor=LOCAL),
            usage_event(3, tenant=TenantName("a"), node=NodeName("mac-1"), vendor=LOCAL),
        ]
    )
    by = (Dimension.NODE, Dimension.TENANT, Dimension.DAY, Dimension.KEY, Dimension.VENDOR, Dimension.MODEL)
    rows = await books.book.usage(UsageQuery(DAY, DAY + 1, by))
    assert [(row.group, row.attempts) for row in rows] == [
        (("", "b", day_text(DAY), "0123456789", "openai", "small"), 1),
        (("mac-1", "a", day_text(DAY), "0123456789", "local", "small"), 2),
    ]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"tenant": "a"}, 2),
        ({"key_id": "k1"}, 1),
        ({"model": "large"}, 1),
        ({"vendor": "openai"}, 3),
        ({"tenant": "c"}, 0),
    ],
    ids=str,
)
async def test_a_filter_lets_through_what_it_names(books: Books, filters: dict[str, Any], found: int) -> None:
    await books.book.send(
        [
            usage_event(1, tenant=TenantName("a"), key_id=KeyId("k1")),
            usage_event(2, tenant=TenantName("a"), model=ModelName("large")),
            usage_event(3, tenant=TenantName("b")),
        ]
    )
    rows = await books.book.usage(UsageQuery(0, 100_000, **filters))
    assert sum(row.attempts for row in rows) == found


async def test_the_last_day_of_a_question_is_not_meant(books: Books) -> None:
    await books.book.send([usage_event(1), usage_event(2, at_s=AT_S + DAY_S)])
    assert len(await books.book.usage(UsageQuery(DAY, DAY + 1, (Dimension.DAY,)))) == 1


async def test_where_nothing_was_used_there_is_no_row(books: Books) -> None:
    assert [*await books.book.usage(ALL), *await books.book.usage(BY_DAY)] == []


async def test_a_line_of_a_batch_and_an_attempt_without_an_answer_are_taken(books: Books) -> None:
    await books.book.send(
        [
            usage_event(
                1, batch_line=BatchLine("batch-1", 7), http_status=None, first_token_s=None, chain=ModelName("c")
            )
        ]
    )
    assert await attempts(books) == 1


async def test_nonsense_of_a_vendor_does_not_hold_up_the_others(books: Books) -> None:
    absurd = 10**30
    await books.book.send(
        [usage_event(1, usage=Usage(absurd, absurd), cost_picos=absurd, cloud_picos=absurd), usage_event(2)]
    )
    assert await attempts(books) == 2


async def spent_today(books: Books, *events: UsageEvent) -> tuple[int, int]:
    await books.book.send(events)
    (spent,) = await books.book.spent(["tenant:default"])
    return spent.day_micros, spent.month_micros


async def test_what_an_account_has_spent_is_rounded_up_once(books: Books) -> None:
    now_s = await books.now_s()
    events = [usage_event(number, at_s=now_s, cost_picos=600_000) for number in range(3)]
    assert await spent_today(books, *events) == (2, 2)


async def test_yesterday_counts_for_the_month_and_not_for_the_day(books: Books) -> None:
    now_s = await books.now_s()
    today = int(now_s // DAY_S)
    same_month = month_of(today - 1) == month_of(today)
    events = [
        usage_event(1, at_s=now_s, cost_picos=1_000_000),
        usage_event(2, at_s=now_s - DAY_S, cost_picos=2_000_000),
        usage_event(3, at_s=now_s - 40 * DAY_S, cost_picos=4_000_000),
    ]
    assert await spent_today(books, *events) == (1, 3 if same_month else 1)


async def test_accounts_are_answered_in_order_and_those_without_events_too(books: Books) -> None:
    now_s = await books.now_s()
    today = int(now_s // DAY_S)
    await books.book.send([usage_event(1, at_s=now_s, cost_picos=5_000_000)])
    found = await books.book.spent(["key:nobody", "key:0123456789", "tenant:default"])
    assert [(one.account, one.day_micros) for one in found] == [
        ("key:nobody", 0),
        ("key:0123456789", 5),
        ("tenant:default", 5),
    ]
    assert {(one.day, one.month) for one in found} == {(today, month_of(today))}


async def test_a_ledger_that_is_away_says_so(books: Books) -> None:
    await books.take_away()
    with pytest.raises(LedgerAway):
        await books.book.send([usage_event(1)])
    with pytest.raises(LedgerAway):
        await books.book.usage(ALL)
    with pytest.raises(LedgerAway):
        await books.book.spent(["key:0123456789"])
