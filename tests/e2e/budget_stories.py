"""What happens to a budget: a crowd, a replica that dies, the rest of the day, a store that fails.

Each story is played once and notes what was seen. The facts are stated in `test_budget_replicas.py`.
"""

import json
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.e2e import declared
from tests.e2e.budget_stand import (
    COST_MICROS,
    DAY_MICROS,
    FITS,
    OTHER_KEY,
    REPLICAS,
    RESERVED_MICROS,
    TEAM,
    Paid,
    Stand,
    apply,
    crowding,
)
from tests.e2e.fleet_engine import HOLD
from tests.e2e.fleet_stand import await_word
from tests.e2e.http import Answer, saying, streaming
from tests.e2e.waiting import now, until

CROWD = 50

DIES = 2
"""The replica that is killed."""

LIVING = (0, 1)

DYING_CALLS = 2
"""It is killed when so many calls at least have begun at the vendor: some of them are its own."""

OVERSIZE = 2 * DAY_MICROS // 1000
"""Words that cost more than a day: such a call is refused for ever, and has the dead's reservations looked at."""

GIVEN_BACK_S = 20.0


@dataclass
class Changed:
    """A key without limits got some, then it was revoked; meanwhile one of its answers was running."""

    lowered_s: float
    revoked_s: float
    statuses: list[int]
    went_on: bool


@dataclass
class Crowded:
    """Calls that came at once, of which few fit into the budget; one replica was killed while they ran."""

    outcomes: list[Paid]
    most: int
    held_by_dead_micros: int
    given_back_s: float
    refusals: list[Answer] = field(default_factory=list)


@dataclass
class Spent:
    """More crowds, until nobody was admitted any more."""

    outcomes: list[Paid]
    most: int
    whole: int
    spent_micros: dict[str, int]
    reserved_micros: dict[str, int]
    ledger_micros: int
    ledger_attempts: int


@dataclass
class Failing:
    """The store hung and went on; then it forgot everything."""

    hung: Answer
    hung_s: float
    back_s: float
    after: list[Answer]
    dialled: int
    spent_micros: dict[str, int]


def seconds_until(fact: Callable[[], object], what: str, within_s: float) -> float:
    """Say how long a fact took to become one."""
    began_at = now()
    until(fact, what, within_s)
    return now() - began_at


def change(stand: Stand) -> Changed:
    """Give a key limits, then revoke it, while one of its answers runs."""
    running = saying(HOLD, model=declared.CLOUD)
    with streaming(stand.replicas[0].url, OTHER_KEY, running) as stream:
        await_word(stream)
        assert {stand.say(number, key=OTHER_KEY).status for number in range(REPLICAS)} == {200}
        apply(stand.replicas[0], stand.vendor, {"rpm": 0})
        lowered_s = seconds_until(lambda: _all_say(stand, 429), "every replica knows the new limit", 15.0)
        done = stand.replicas[1].ktms("admin", "keys", "revoke", _id_of(stand, "other"))
        assert done.code == 0, done.err
        revoked_s = seconds_until(lambda: _all_say(stand, 401), "every replica refuses the key", 15.0)
        await_word(stream)
        return Changed(lowered_s, revoked_s, _statuses(stand), went_on=not stream.cut)


def _statuses(stand: Stand) -> list[int]:
    return [stand.say(number, key=OTHER_KEY).status for number in range(REPLICAS)]


def _all_say(stand: Stand, status: int) -> bool:
    return set(_statuses(stand)) == {status}


def _id_of(stand: Stand, name: str) -> str:
    done = stand.replicas[0].ktms("admin", "keys", "list", "--json")
    assert done.code == 0, done.err
    keys: list[dict[str, Any]] = json.loads(done.out)
    return next(str(key["id"]) for key in keys if key["name"] == name)


def crowd(stand: Stand) -> Crowded:
    """Let a crowd come, and kill a replica when the first calls have begun."""
    until(lambda: stand.vendor.counts.running == 0, "nothing runs")
    with crowding(stand, range(REPLICAS), CROWD) as outcomes:
        until(lambda: stand.reserved_micros(TEAM) == FITS * RESERVED_MICROS, "all that fits is reserved")
        until(lambda: stand.vendor.counts.running >= DYING_CALLS, "calls have begun")
        stand.replicas[DIES].program.signal(signal.SIGKILL)
        died_at = now()
    held = stand.reserved_micros(TEAM)
    refusals: list[Answer] = []

    def is_given_back() -> bool:
        refusals.append(stand.say(0, OVERSIZE))
        return stand.reserved_micros(TEAM) == 0

    until(is_given_back, "what the dead had reserved is back", GIVEN_BACK_S)
    return Crowded(outcomes, stand.vendor.counts.most, held, now() - died_at, refusals)


def spend(stand: Stand) -> Spent:
    """Let crowds come until the budget is used up."""
    outcomes: list[Paid] = []
    admitted = True
    while admitted:
        with crowding(stand, LIVING, CROWD // 2) as wave:
            pass
        outcomes += wave
        admitted = any(each.status == 200 for each in wave)
    accounts = (stand.key, TEAM)
    until(lambda: _attempts(stand) >= stand.vendor.counts.whole, "all is booked")
    rows = _usage(stand)
    return Spent(
        outcomes,
        stand.vendor.counts.most,
        stand.vendor.counts.whole,
        {account: stand.spent_micros(account) for account in accounts},
        {account: stand.reserved_micros(account) for account in accounts},
        round(sum(Decimal(str(row["cost_usd"])) for row in rows) * 1_000_000),
        sum(int(row["attempts"]) for row in rows),
    )


def _usage(stand: Stand) -> list[dict[str, Any]]:
    done = stand.replicas[0].ktms("admin", "usage", "--by", "key", "--tenant", "team", "--json")
    assert done.code == 0, done.err
    rows: list[dict[str, Any]] = json.loads(done.out)
    return rows


def _attempts(stand: Stand) -> int:
    return sum(int(row["attempts"]) for row in _usage(stand))


def fail(stand: Stand) -> Failing:
    """Let the store hang and go on, then lose its memory; the budget is used up, and closed."""
    begun = stand.vendor.counts.begun
    with stand.store.hung():
        began_at = now()
        hung = stand.say(0)
        hung_s = now() - began_at
    back_s = seconds_until(lambda: stand.say(0).status == 429, "the store is in use again", 15.0)
    stand.store.forget()
    after = [stand.say(number) for number in (*LIVING, *LIVING)]
    spent = {account: stand.spent_micros(account) for account in (stand.key, TEAM)}
    return Failing(hung, hung_s, back_s, after, stand.vendor.counts.begun - begun, spent)


assert CROWD > FITS * REPLICAS
assert COST_MICROS < RESERVED_MICROS
