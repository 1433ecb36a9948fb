"""How usage events become sums: the day of one, what it saved, what counts as failed. One rule for all ledgers.

Days are days since 1970 in UTC. Not here: where sums are kept, prices (`pricing.py`).
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from ktms.domain.access.usage_event import AttemptStatus, UsageEvent
from ktms.domain.access.usage_report import Dimension, UsageQuery, UsageRow

DAY_S = 86_400

EPOCH_ORDINAL = 719_163
"""1970-01-01 among the days that `date` counts."""

FAILED = frozenset({AttemptStatus.FAILED, AttemptStatus.INTERRUPTED})
"""Whose fault it was not the client's: a refusal is the client's to mend, and leaving is its right."""


def day_of(event: UsageEvent) -> int:
    """Give the day on which an attempt was settled; a budget is charged for the day on which it was reserved."""
    return int((event.started_at + event.duration_s) // DAY_S)


def month_of(day: int) -> int:
    """Give the month of a day as year * 12 + month - 1."""
    civil = date.fromordinal(day + EPOCH_ORDINAL)
    return civil.year * 12 + civil.month - 1


def month_begins(day: int) -> int:
    """Give the first day of a day's month."""
    return day - date.fromordinal(day + EPOCH_ORDINAL).day + 1


def day_text(day: int) -> str:
    """Write a day as 2026-09-21."""
    return date.fromordinal(day + EPOCH_ORDINAL).isoformat()


def saved_picos(event: UsageEvent) -> int:
    """Give what an attempt saved against the cloud: only our machines and the cache save; they may cost too."""
    if event.cloud_picos is None or (event.node is None and not event.from_cache):
        return 0
    return event.cloud_picos - event.cost_picos


def matches(query: UsageQuery, event: UsageEvent) -> bool:
    """Tell whether a question is about this event."""
    return query.from_day <= day_of(event) < query.until_day and all(
        wanted is None or wanted == value
        for wanted, value in (
            (query.tenant, event.tenant),
            (query.key_id, event.key_id),
            (query.model, event.model),
            (query.vendor, event.vendor),
        )
    )


def group_of(event: UsageEvent, by: Sequence[Dimension]) -> tuple[str, ...]:
    """Give an event's values of these dimensions."""
    values = {
        Dimension.DAY: day_text(day_of(event)),
        Dimension.TENANT: event.tenant,
        Dimension.KEY: event.key_id,
        Dimension.MODEL: event.model,
        Dimension.VENDOR: event.vendor,
        Dimension.NODE: event.node or "",
    }
    return tuple(values[dimension] for dimension in by)


def with_event(row: UsageRow, event: UsageEvent) -> UsageRow:
    """Add an event to a row of sums."""
    usage = event.usage
    return replace(
        row,
        attempts=row.attempts + 1,
        failed=row.failed + (event.status in FAILED),
        prompt_tokens=row.prompt_tokens + usage.prompt_tokens,
        cached_tokens=row.cached_tokens + usage.cached_tokens,
        cache_write_tokens=row.cache_write_tokens + usage.cache_write_tokens,
        completion_tokens=row.completion_tokens + usage.completion_tokens,
        reasoning_tokens=row.reasoning_tokens + usage.reasoning_tokens,
        estimated=row.estimated + usage.estimated,
        cost_picos=row.cost_picos + event.cost_picos,
        saved_picos=row.saved_picos + saved_picos(event),
    )


def total_of(rows: Sequence[UsageRow]) -> UsageRow:
    """Add rows up; the sum belongs to no group."""
    return UsageRow(
        (),
        attempts=sum(row.attempts for row in rows),
        failed=sum(row.failed for row in rows),
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        cached_tokens=sum(row.cached_tokens for row in rows),
        cache_write_tokens=sum(row.cache_write_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
        reasoning_tokens=sum(row.reasoning_tokens for row in rows),
        estimated=sum(row.estimated for row in rows),
        cost_picos=sum(row.cost_picos for row in rows),
        saved_picos=sum(row.saved_picos for row in rows),
    )
