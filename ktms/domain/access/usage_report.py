"""Questions about usage, and the rows of their answers. Shapes and their limits; the sums are the ledger's."""

from dataclasses import dataclass
from enum import StrEnum

ROWS_MAX = 10_000
"""Rows of one answer: beyond it a question is too fine to be read by anybody, and is refused."""


class UsageTooFine(Exception):
    """The answer would have more rows than anybody reads."""

    def __init__(self) -> None:
        super().__init__(
            f"more than {ROWS_MAX} rows: ask for fewer days, name a tenant, key, model or vendor, or leave out a "
            "dimension"
        )


class Dimension(StrEnum):
    """What usage may be broken down by."""

    DAY = "day"
    TENANT = "tenant"
    KEY = "key"
    MODEL = "model"
    VENDOR = "vendor"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """Days are days since 1970 (UTC), `until_day` excluded. Filters of None let everything through."""

    from_day: int
    until_day: int
    by: tuple[Dimension, ...] = ()
    tenant: str | None = None
    key_id: str | None = None
    model: str | None = None
    vendor: str | None = None


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Sums of one group; `group` has the values of the query's dimensions in their order ("": none).

    `saved_picos`: what attempts on our own machines, and kept answers, would have cost in the cloud, less what
    they cost.
    """

    group: tuple[str, ...]
    attempts: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: int = 0
    cost_picos: int = 0
    saved_picos: int = 0
