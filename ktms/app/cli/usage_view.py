"""Sums of usage as they are shown: a table with a last row of totals, CSV and JSON with exact amounts.

Dollars of the table are rounded to micro-dollars; those for programs are exact to the pico-dollar.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from decimal import Decimal

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.domain.access.usage_report import Dimension

PICO_DIGITS = 12
SHOWN_DIGITS = 6

KEY_NAME = "key_name"
"""Column beside the id of a key for those who read; empty where there is no key of it any more."""

SUMS = ("attempts", "failed", "prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd", "saved_usd")
"""Columns of the table; programs get all."""

ALL_SUMS = (
    "attempts",
    "failed",
    "prompt_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "estimated",
    "cost_usd",
    "saved_usd",
)


def usage_facts(
    row: admin_pb2.UsageRow, by: Sequence[Dimension], key_names: Mapping[str, str]
) -> dict[str, object]:
    """Give what is told of a row, by the names of its columns. `key_names` are those of keys by their ids."""
    facts: dict[str, object] = {}
    for dimension, value in zip(by, row.group, strict=True):
        facts[dimension.value] = value
        if dimension is Dimension.KEY:
            facts[KEY_NAME] = key_names.get(value, "")
    for name in ALL_SUMS:
        if name.endswith("_usd"):
            facts[name] = exact_dollars(int(getattr(row, name.removesuffix("usd") + "picos")))
        else:
            facts[name] = getattr(row, name)
    return facts


def usage_csv(rows: Sequence[admin_pb2.UsageRow], by: Sequence[Dimension], key_names: Mapping[str, str]) -> str:
    """Write all rows as CSV, with a head line and without totals."""
    text = io.StringIO()
    groups = [name for each in by for name in ((each.value, KEY_NAME) if each is Dimension.KEY else (each.value,))]
    writer = csv.DictWriter(text, [*groups, *ALL_SUMS], lineterminator="\n")
    writer.writeheader()
    writer.writerows(usage_facts(row, by, key_names) for row in rows)
    return text.getvalue()


def usage_table(
    rows: Sequence[admin_pb2.UsageRow], by: Sequence[Dimension], key_names: Mapping[str, str]
) -> list[list[str]]:
    """Give the cells of the table, the totals last. `key_names` are those of keys by their ids."""
    facts = [usage_facts(row, by, key_names) for row in rows]
    shown = [[*_group(each, by), *(_cell(each[name]) for name in SUMS)] for each in facts]
    if not by:
        return shown
    totals = [_cell(_sum([each[name] for each in facts])) for name in SUMS]
    return [*shown, ["total", *("" for _ in by[1:]), *totals]]


def exact_dollars(picos: int) -> str:
    """Write pico-dollars as dollars, without an exponent and without zeros that say nothing."""
    text = f"{Decimal(picos).scaleb(-PICO_DIGITS):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _group(facts: Mapping[str, object], by: Sequence[Dimension]) -> list[str]:
    return [
        f"{facts[dimension.value]} {facts[KEY_NAME]}".strip() or "-"
        if dimension is Dimension.KEY
        else str(facts[dimension.value]) or "-"
        for dimension in by
    ]


def _sum(values: Sequence[object]) -> object:
    if values and isinstance(values[0], str):
        return str(sum((Decimal(str(value)) for value in values), Decimal()))
    return sum(value for value in values if isinstance(value, int))


def _cell(value: object) -> str:
    return f"{Decimal(value):.{SHOWN_DIGITS}f}" if isinstance(value, str) else str(value)
