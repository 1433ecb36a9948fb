"""What limits count, in shapes: accounts, their states, what refused, what the ledger knows. Integers only.

Not here: the arithmetic (`quota_counters.py`, `quota_refusals.py`), what clients are told of it
(`rate_headers.py`), where the counters lie (ports/quota_store.py).
"""

from dataclasses import dataclass
from enum import StrEnum

from ktms.domain.access.limits import Limits

WINDOW_US = 60_000_000
"""A bucket holds one minute's worth: limits are per minute."""


class Limit(StrEnum):
    """Which limit refused."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    CONCURRENT = "concurrent"
    DAY = "day"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Account:
    """Who is charged: `id` is `key:<id>` or `tenant:<name>`."""

    id: str
    limits: Limits


@dataclass(slots=True)
class AccountState:
    """Of one account: how far ahead of now its buckets are full again (microseconds), and its amounts.

    `day_micros` and `month_micros` include what is reserved. Nobody changes one; it is not frozen because two are
    made per call.
    """

    requests_us: int = 0
    tokens_us: int = 0
    running: int = 0
    day_micros: int = 0
    month_micros: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """One limit of one account (its place in the wish) was in the way. `wait_ms` until it may be tried again.

    `wait_ms` None: never, the call alone is larger than the limit. `states` as far as they were read.
    """

    account: int
    limit: Limit
    wait_ms: int | None
    states: tuple[AccountState, ...] = ()


@dataclass(frozen=True, slots=True)
class Spent:
    """What the ledger knows of one account: micro-dollars of one UTC day and its month.

    `day` is days since 1970, `month` is year * 12 + month - 1; amounts of other days and months are not taken.
    """

    account: str
    day: int
    month: int
    day_micros: int
    month_micros: int
