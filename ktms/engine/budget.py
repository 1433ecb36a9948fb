"""What a call may use: reserved of its key and tenant before anybody is asked, settled when it has ended.

Rules: all limits or none, in one step of the store; nothing is asked where nothing is limited; while the store is
away rates are skipped, and so are dollars unless somebody wants them `closed` (FR1 to FR3); an account whose
spending the store has lost is read from the ledger before anything is reserved of it (FR11).
Not here: the arithmetic (`domain/access/quota.py`), what was used (`settle.py`), keeping the store's promises
(`quota_upkeep.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.pricing import PriceTable, micros_up
from ktms.domain.access.quota import Account, Limit, Refusal
from ktms.domain.access.rate_headers import rate_headers
from ktms.domain.call import CallFacts
from ktms.domain.errors import CallFailed, ErrorCode, Problem, problem
from ktms.domain.ids import LOCAL, KeyId
from ktms.domain.routing.plan import CloudStep, Step
from ktms.domain.units import MS_PER_S
from ktms.engine.place import Placed
from ktms.engine.spending import Spending
from ktms.engine.trail import Trail
from ktms.ports.clock import Clock
from ktms.ports.ledger import LedgerAway
from ktms.ports.quota_store import QuotaStore, QuotaStoreAway, Reserved, Unread, Wish
from ktms.ports.telemetry import Dependency, Telemetry
from ktms.ports.usage_reports import UsageReports

ACCOUNTS_MAX = 20_000
"""Keys whose accounts are remembered; as many as are verified (`key_window.py`)."""

FREE_TOKENS = 1
"""The least there is: the store gives requests back that used nothing (port QuotaStore)."""

WINDOW_PARTS = 4
"""An answer that nobody bounds is taken to fill no more of the window than this part: the rest is prompt."""

AWAY_RETRY_S = 2.0
"""The guard tries Redis again after so long (FR7)."""


@dataclass(frozen=True, slots=True)
class BudgetMeans:
    """What counting takes. `dollars_closed`: no call passes whose dollars cannot be counted, whoever calls."""

    quotas: QuotaStore
    reports: UsageReports
    clock: Clock
    telemetry: Telemetry
    dollars_closed: bool = False


class Budget:
    """Reserves and settles."""

    def __init__(self, means: BudgetMeans) -> None:
        self._means = means
        self._spending = Spending(means.reports, means.clock)
        self._accounts: dict[KeyId, tuple[ClientKey, tuple[Account, ...]]] = {}
        self._spenders: dict[str, None] = {}
        self._spent_before: dict[str, None] = {}
        self._refused: set[KeyId] = set()

    def is_limited(self, key: ClientKey) -> bool:
        """Whether anything is counted of a key or its tenant."""
        return bool(self._accounts_of(key))

    def was_refused(self, key: ClientKey) -> bool:
        """Whether the key was over a limit when it was last asked for."""
        return key.id in self._refused

    async def reserve(self, trail: Trail, placed: Placed, *, free: bool = False) -> Wish | None:
        """Reserve what a call may use at most; None: there is nothing to settle.

        `free`: it costs nothing and counts as FREE_TOKENS; it is a request all the same.

        Raises:
            CallFailed: 429 over a limit, 503 where dollars must be counted and cannot.
        """
        assert trail.key is not None
        accounts = self._accounts_of(trail.key)
        if not accounts:
            return None
        call_id = trail.call.request_id
        wish = Wish(call_id, accounts, FREE_TOKENS, 0) if free else self._wish(trail, placed, accounts)
        if trail.redis_hung:  # one timeout is what a call pays (FR8)
            self._do_without(trail, wish, QuotaStoreAway("timeout"))
            return None
        try:
            answer = await self._means.quotas.reserve(wish)
            if isinstance(answer, Unread):
                wish, answer = await self._reserved_when_read(trail, wish, answer)
        except QuotaStoreAway as away:
            self._do_without(trail, wish, away)
            return None
        trail.rates = rate_headers(accounts, answer.states)
        if isinstance(answer, Refusal):
            self._refused.add(trail.key.id)
            raise CallFailed(_refused(wish, answer))
        self._refused.discard(trail.key.id)
        return wish

    def settle(self, wish: Wish | None, trail: Trail) -> None:
        """Put what the attempts of a call used in the place of what was reserved, if anything was."""
        if trail.used_picos:
            self._note_spenders(trail)
        if wish is not None:
            self._means.quotas.settle(wish, trail.used_tokens, micros_up(trail.used_picos))

    def take_spenders(self) -> tuple[str, ...]:
        """Give the accounts with limits of dollars that spent here since the last time but one.

        Each comes twice: what was spent just before the first time may not be in the ledger yet.
        """
        spenders = tuple(self._spenders | self._spent_before)
        self._spenders, self._spent_before = {}, self._spenders
        return spenders

    def spend_again(self, accounts: Sequence[str]) -> None:
        """Put accounts back that could not be seen to."""
        self._spenders |= dict.fromkeys(accounts)

    def _note_spenders(self, trail: Trail) -> None:
        assert trail.key is not None
        for account in self._accounts_of(trail.key):
            if account.limits.dollars:
                self._spenders[account.id] = None

    def _wish(self, trail: Trail, placed: Placed, accounts: tuple[Account, ...]) -> Wish:
        answer_tokens = _answer_tokens(trail.call.body.facts, placed)
        wall = self._means.clock.wall()
        picos = 0
        for step in placed.plan.steps:
            most = _most_picos(step, trail.prices, wall, placed.prompt_tokens, answer_tokens)
            picos = max(picos, most)
        return Wish(trail.call.request_id, accounts, placed.prompt_tokens + answer_tokens, micros_up(picos))

    async def _reserved_when_read(
        self, trail: Trail, wish: Wish, unread: Unread
    ) -> tuple[Wish, Reserved | Refusal]:
        """Tell the store what the ledger knows of accounts that it knows nothing of, and reserve again.

        Where the ledger tells nothing a call of an `open` budget passes; its rates count all the same.

        Raises:
            QuotaStoreAway: nothing was reserved.
            CallFailed: as `reserve`.
        """
        try:
            spent = await self._spending.of([account.id for account in unread.accounts])
        except LedgerAway as away:
            self._do_without(trail, wish, away)
            wish = _without_dollars(wish)
        else:
            await self._means.quotas.raise_spent(spent)
        again = await self._means.quotas.reserve(wish)
        if isinstance(again, Unread):
            raise QuotaStoreAway("unread")  # emptied once more, or the day has just changed
        return wish, again

    def _do_without(self, trail: Trail, wish: Wish, away: QuotaStoreAway | LedgerAway) -> None:
        """Let a call pass uncounted, unless its dollars must be counted.

        Raises:
            CallFailed: 503 `budget_unavailable`.
        """
        assert trail.key is not None
        of_redis = isinstance(away, QuotaStoreAway)
        dependency = Dependency.REDIS if of_redis else Dependency.LEDGER
        self._means.telemetry.dependency_failed(dependency, "reserve", away.kind)
        if any(account.limits.dollars for account in wish.accounts) and (
            self._means.dollars_closed or trail.key.dollars_closed
        ):
            raise CallFailed(_UNCOUNTABLE)
        trail.uncounted = True
        trail.redis_hung = of_redis and away.kind == "timeout"

    def _accounts_of(self, key: ClientKey) -> tuple[Account, ...]:
        known = self._accounts.get(key.id)
        if known is not None and known[0] is key:
            return known[1]
        if len(self._accounts) >= ACCOUNTS_MAX:
            self._accounts.clear()
            self._refused.clear()
        accounts = accounts_of(key)
        self._accounts[key.id] = (key, accounts)
        return accounts


def _without_dollars(wish: Wish) -> Wish:
    """Give a wish whose dollars are no obstacle, and are charged at its end all the same."""
    accounts = (
        Account(account.id, replace(account.limits, usd_per_day_micros=None, usd_per_month_micros=None))
        for account in wish.accounts
    )
    return Wish(wish.id, tuple(accounts), wish.tokens, 0)


_UNCOUNTABLE = problem(
    ErrorCode.BUDGET_UNAVAILABLE,
    "What this key may spend cannot be counted right now, and it must be.",
    retry_after_s=AWAY_RETRY_S,
)


def accounts_of(key: ClientKey) -> tuple[Account, ...]:
    """Give who is charged for the calls of a key, the key itself first; without limits nobody is."""
    both = (Account(f"key:{key.id}", key.limits), Account(f"tenant:{key.tenant}", key.tenant_limits))
    return tuple(account for account in both if account.limits.any)


def _answer_tokens(facts: CallFacts, placed: Placed) -> int:
    """Guess how long the answers will be together; without a bound each is usual, or a quarter of the window."""
    tokens = placed.answer_tokens
    if facts.max_tokens is None:
        windows = [step.window for step in placed.plan.steps if step.window is not None]
        tokens = min(tokens, max(windows) // WINDOW_PARTS) if windows else tokens
    return tokens * facts.answers_written


def _most_picos(step: Step, prices: PriceTable, wall: float, prompt_tokens: int, answer_tokens: int) -> int:
    vendor = step.target.vendor.name if isinstance(step, CloudStep) else LOCAL
    price = prices.at(vendor, step.target.vendor_model, wall)
    return 0 if price is None else price.most_picos(prompt_tokens, answer_tokens)


def _refused(wish: Wish, refusal: Refusal) -> Problem:
    """Say which limit of whom is in the way, and when to come back."""
    account = wish.accounts[refusal.account]
    whose = "key" if account.id.startswith("key:") else "team"
    words, code = _WORDS[refusal.limit]
    if refusal.wait_ms is None:
        message = f"This call alone is larger than the {whose}'s limit of {words}."
        return problem(code, message)
    if refusal.limit in (Limit.DAY, Limit.MONTH):
        message = f"What is left of the {whose}'s limit of {words} is less than this call may cost; "
        message += "a smaller max_tokens needs less."
    else:
        message = f"The {whose}'s limit of {words} is reached."
    return problem(code, message, retry_after_s=refusal.wait_ms / MS_PER_S)


_WORDS = {
    Limit.REQUESTS: ("requests per minute", ErrorCode.RATE_LIMIT_EXCEEDED),
    Limit.TOKENS: ("tokens per minute", ErrorCode.RATE_LIMIT_EXCEEDED),
    Limit.CONCURRENT: ("requests at once", ErrorCode.RATE_LIMIT_EXCEEDED),
    Limit.DAY: ("dollars per day", ErrorCode.BUDGET_EXCEEDED),
    Limit.MONTH: ("dollars per month", ErrorCode.BUDGET_EXCEEDED),
}
assert set(_WORDS) == set(Limit), "every limit has its words"
