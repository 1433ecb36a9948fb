"""I3: what is admitted never exceeds a limit, and nobody is refused while there is room.

Limits are settings named `limit:<what>:<account>`: rpm, tpm, concurrent, day, month (micro-dollars). Whoever is
admitted has reserved of all its accounts that have limits, in one step; only where the store is away, or the
ledger that it needs, a call passes uncounted, and where its dollars are `closed` it does not. What is settled is
what the attempts cost, once; what is refused costs nothing and moves nothing. What the store itself counts agrees.
Rates are in `rates.py`. A store that is away counts nothing, so nothing is judged then that it would have to know.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sim.checkers.rates import rates_hold
from sim.checkers.reserved import Reservation, Reserved, Used
from sim.checkers.violation import Violation
from sim.journal.calls import text_of
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I3"
TITLE = "no more is admitted than a limit allows, and nobody is refused for nothing"

LIMIT = "limit:"

DOLLARS = frozenset({"day", "month"})
"""The limits of micro-dollars."""

SETTLED_S = 1.0
"""A call that is over was settled before it was recorded; a replica that stands still notes both late."""


@dataclass(frozen=True, slots=True)
class Limited:
    """The limits of a run, by account, then by name."""

    of: dict[str, dict[str, float]]

    def accounts_of(self, key: str) -> set[str]:
        """Give the accounts that a key's calls are charged to, by its id."""
        return {account for account in self.of if account == f"key:{key}" or account.startswith("tenant:")}

    def dollars(self, key: str) -> bool:
        """Whether dollars are limited for a key."""
        return any(DOLLARS & self.of[account].keys() for account in self.accounts_of(key))


def check(journal: Journal) -> Iterator[Violation]:
    """Find calls beyond a limit, refusals without need, what was settled wrongly, and counts that are off."""
    limited = limits_in(journal)
    if not limited.of:
        return
    watch = watch_of(journal)
    reserved = Reserved(watch, journal)
    yield from _all_is_reserved(watch, limited, reserved)
    yield from _all_is_settled(watch, reserved)
    if not reserved.shared:
        return
    for fact in journal.of("quota_reserved", "quota_refused", "quota_seen"):
        match fact.kind:
            case "quota_reserved":
                yield from _admitted(limited, reserved, fact)
            case "quota_refused":
                yield from _refused(limited, reserved, fact)
            case _:
                yield from _counted(reserved, fact)
    yield from rates_hold(limited.of, reserved, journal)


def limits_in(journal: Journal) -> Limited:
    """Read the limits; of one that was changed the larger counts."""
    found: dict[str, dict[str, float]] = {}
    for fact in journal.of("setting"):
        if fact.text("name").startswith(LIMIT):
            _, name, account = fact.text("name").split(":", 2)
            of = found.setdefault(account, {})
            of[name] = max(of.get(name, 0.0), fact.number("value"))
    return Limited(found)


def _all_is_reserved(watch: Watch, limited: Limited, reserved: Reserved) -> Iterator[Violation]:
    """Hold what was used against what was reserved for it: by whom, and of which accounts."""
    for call, its in reserved.used.items():
        wanted = limited.accounts_of(its.key)
        made = [one for one in reserved.by_call.get(call, ()) if not one.unheard]
        if not wanted:
            continue
        if made:
            missing = wanted - set(made[-1].accounts)
            if missing:
                what = f"{made[-1].host} reserved nothing of {', '.join(sorted(missing))} for call {call}"
                yield Violation(CODE, made[-1].at, what)
        elif not its.uncounted:
            yield Violation(CODE, its.at, f"call {call} used something, and nothing was reserved for it")
        elif limited.dollars(its.key) and watch.text(f"closed:key:{its.key}") == "True":
            yield Violation(CODE, its.at, f"call {call} of a key that is closed passed uncounted")


def _all_is_settled(watch: Watch, reserved: Reserved) -> Iterator[Violation]:
    """Find reservations that their replica forgot, and settlements of another amount than was used."""
    for call, found in reserved.by_call.items():
        made = [one for one in found if not one.unheard]
        for one in made:
            if one.over_at > one.dead_at or one.dead_at < watch.ends_at:
                continue
            over_at = min((fact.at for fact in watch.records.get(call, ())), default=watch.ends_at)
            due_at = watch.host(one.host).thawed_at(over_at) + SETTLED_S
            if min(one.over_at, watch.ends_at) > due_at:
                what = f"{one.host} reserved for call {call}, which is over, and has not settled it"
                yield Violation(CODE, due_at, what)
        yield from _same_amount(call, made, reserved.used.get(call))


def _same_amount(call: str, made: list[Reservation], used: Used | None) -> Iterator[Violation]:
    settled = [one for one in made if one.over_at < one.dead_at and one.over_at < float("inf")]
    if not settled or len(settled) < len(made):
        return
    charged, cost = sum(one.used_micros for one in settled), 0.0 if used is None else used.micros
    if charged != cost:
        what = f"{settled[-1].host} settled {charged:.0f} micros for call {call}, its attempts cost {cost:.0f}"
        yield Violation(CODE, settled[-1].over_at, what)


def _admitted(limited: Limited, reserved: Reserved, fact: Fact) -> Iterator[Violation]:
    """Hold an admission against what surely counts already."""
    call, micros = fact.text("call"), fact.number("micros")
    mine = next((one for one in reserved.by_call.get(call, ()) if one.fact is fact), None)
    if mine is None:
        return
    for account in sorted(limited.accounts_of(_key_of(reserved, mine)) | set(mine.accounts)):
        for name, most in limited.of.get(account, {}).items():
            if name in DOLLARS and micros:
                counted = reserved.must_micros(account, fact.at, but=mine)
                if counted + micros > most:
                    what = f"admitted {call} at {micros:.0f}; of {most:.0f} a {name} of {account} {counted:.0f}"
                    yield Violation(CODE, fact.at, f"{fact.host} {what} are spent")
            elif name == "concurrent":
                running, _ = reserved.running(account, mine.asked_at, fact.at, but=mine)
                if running >= most:
                    what = f"admitted {call}; {running} calls of {account} ran, {most:.0f} may"
                    yield Violation(CODE, fact.at, f"{fact.host} {what}")


def _key_of(reserved: Reserved, one: Reservation) -> str:
    its = reserved.used.get(one.call)
    return "" if its is None else its.key


def _refused(limited: Limited, reserved: Reserved, fact: Fact) -> Iterator[Violation]:
    """Hold a refusal against all that may count."""
    account, name = fact.text("account"), text_of(fact.members["limit"])
    call = fact.text("call")
    since = fact.at - fact.number("waited_s")
    its = reserved.used.get(call)
    if its is not None and its.picos and not any(not one.unheard for one in reserved.by_call.get(call, ())):
        yield Violation(CODE, its.at, f"call {call} was refused and used something all the same")
    if name in ("requests", "tokens") or reserved.unclear(fact.at):
        return
    most = limited.of.get(account, {}).get(name)
    if most is None:
        yield Violation(CODE, fact.at, f"{fact.host} refused {call} for the {name} of {account}, without a limit")
    elif name == "concurrent":
        _, running = reserved.running(account, since, fact.at)
        if running < most:
            what = f"refused {call}; at most {running} calls of {account} ran, {most:.0f} may"
            yield Violation(CODE, fact.at, f"{fact.host} {what}")
    else:
        micros = fact.number("micros")
        counted = reserved.may_micros(account, since, fact.at, lambda used: _pays(account, used))
        if counted + micros <= most:
            what = f"refused {call} at {micros:.0f}; of {most:.0f} a {name} of {account} at most {counted:.0f}"
            yield Violation(CODE, fact.at, f"{fact.host} {what} are spent")


def _counted(reserved: Reserved, fact: Fact) -> Iterator[Violation]:
    """Hold what the store counts of an account against what must and what may be counted."""
    account, unclear = fact.text("account"), reserved.unclear(fact.at)
    running, (must, may) = fact.number("running"), reserved.running(account, fact.at, fact.at)
    if not must <= running <= (running if unclear else may):
        what = f"the store counts {running:.0f} calls of {account}, between {must} and {may} run"
        yield Violation(CODE, fact.at, what)
    micros, least = fact.number("settled") + fact.number("reserved"), reserved.must_micros(account, fact.at)
    most = reserved.may_micros(account, fact.at, fact.at, lambda used: _pays(account, used))
    if not least <= micros <= (micros if unclear else most):
        what = f"the store counts {micros:.0f} of {account}, it is between {least:.0f} and {most:.0f}"
        yield Violation(CODE, fact.at, what)


def _pays(account: str, used: Used) -> bool:
    return account.startswith("tenant:") or account == f"key:{used.key}"
