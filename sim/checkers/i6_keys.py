"""I6: a revoked key is refused in time, a key nobody made always, a good key never.

A revoked key is refused at the latest `key_window_s` after its revocation, whatever happened, and within 10 s
while the database answers (FP11). A key that nobody made gets no 200 and nothing is asked for it. A key that
exists and is not revoked never gets a 401: a database that does not answer is a 503 (FP2).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sim.checkers.violation import Violation
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.spans import any_overlaps
from sim.journal.watch import Watch, watch_of

CODE = "I6"
TITLE = "revoked and unknown keys are refused in time, good ones never"

FRESH_S = 10.0
"""A revoked key lives no longer where the database answers."""

GRACE_S = 5.0
"""A look-up that began before lasts up to 3 s, and a request travels."""

NEWBORN_S = 3.0
"""That a key does not exist may be remembered for 2 s."""

KEY_WINDOW_S = 300.0

POSTGRES_FAULTS = ("postgres_away", "postgres_failover", "postgres_hung", "postgres_slow", "keys_locked")


@dataclass(slots=True)
class _Key:
    made_at: float
    revoked_at: float | None = None


def check(journal: Journal) -> Iterator[Violation]:
    """Find keys that worked when they must not, and keys that were refused when they must not."""
    keys = _keys(journal)
    if not keys:
        return
    watch = watch_of(journal)
    for call in watch.calls.values():
        if not call.sents:
            continue
        name = call.sents[0].text("key")
        key = keys.get(name)
        if key is None:
            yield from _never_lets_in(watch, call, f"key {name}, which nobody made,")
        elif key.revoked_at is not None and call.sent_at > _ends_at(watch, key.revoked_at, call):
            yield from _never_lets_in(watch, call, f"key {name}, revoked at {key.revoked_at:.3f} s,")
        elif call.status == 401 and _is_good(key, call):
            yield Violation(CODE, call.over_at, f"{call.gateway} refused key {name}, which is good", call.name)


def _keys(journal: Journal) -> dict[str, _Key]:
    """Find the keys, each under its id and under its name."""
    keys: dict[str, _Key] = {}
    for fact in journal.of("key_made", "key_revoked"):
        name = fact.text("key")
        if fact.kind == "key_made":
            keys[name] = keys[str(fact.members.get("name") or name)] = _Key(fact.at)
        elif name in keys and keys[name].revoked_at is None:
            keys[name].revoked_at = fact.at
    return keys


def _ends_at(watch: Watch, revoked_at: float, call: Call) -> float:
    """Give from when on a revoked key must be refused."""
    window_s = watch.number("key_window_s", KEY_WINDOW_S)
    fresh_s = min(FRESH_S, window_s)
    if any_overlaps(watch.fault_spans(*POSTGRES_FAULTS), revoked_at - GRACE_S, call.sent_at):
        fresh_s = window_s
    return revoked_at + watch.longer_s(fresh_s) + GRACE_S


def _never_lets_in(watch: Watch, call: Call, key: str) -> Iterator[Violation]:
    asked = watch.asked_for.get(call.name, ())
    if asked:
        what = f"{call.gateway} asked {asked[0].target} for {key} in a call sent at {call.sent_at:.3f} s"
        yield Violation(CODE, asked[0].asked.at, what, call.name)
    elif call.status == 200:
        yield Violation(CODE, call.over_at, f"{call.gateway} answered {key} with 200", call.name)


def _is_good(key: _Key, call: Call) -> bool:
    if call.sent_at < key.made_at + NEWBORN_S:
        return False
    return key.revoked_at is None or key.revoked_at > call.over_at
