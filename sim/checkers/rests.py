"""Who was told to wait must be left alone for as long as it said (FV7); a part of I12.

Rules: per gateway. A vendor rests the key that was used, so the same key is not used there for that long; where it
has several keys, `asked` must say which one it was, or nothing can be judged. Judged is only a 429 that the
gateway has certainly read. Machines of our own are not rested. Needs `retry_after_s` in `told`.
"""

from collections import defaultdict
from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.calls import Exchange, text_of
from sim.journal.watch import Watch

CODE = "I12"

REST_MAX_S = 300.0
"""A vendor may ask for more, but is asked again after this."""

BUSY, OVERLOADED = 429, 503

REFUSED_KEY_S = 60.0
"""A credential that was refused is set aside for this long, if there is another one."""

READ_WITHIN_S = 2.0
"""The answer has been read by then, and what was let through before has arrived."""


def check_rests(watch: Watch) -> Iterator[Violation]:
    """Find vendors that were asked while they rested."""
    asked: dict[tuple[str, str, str], list[Exchange]] = defaultdict(list)
    for exchange in watch.exchanges:
        if exchange.asked.has("cloud") and not exchange.late and _is_told_apart(watch, exchange):
            key = text_of(exchange.asked.members.get("key"))
            asked[exchange.gateway, exchange.target, key].append(exchange)
    for exchanges in asked.values():
        for resting in exchanges:
            told_s = _told_s(resting)
            if told_s > READ_WITHIN_S and _was_read(watch, resting):
                yield from _left_alone(watch, resting, told_s, exchanges)
    yield from _overloaded_are_left_alone(watch)
    yield from _refused_keys_are_set_aside(watch, asked)


def _overloaded_are_left_alone(watch: Watch) -> Iterator[Violation]:
    """Hold a 503 with `Retry-After` against all that was asked of the target, with whichever key."""
    asked: dict[tuple[str, str], list[Exchange]] = defaultdict(list)
    for exchange in watch.exchanges:
        if exchange.asked.has("cloud") and not exchange.late:
            asked[exchange.gateway, exchange.target].append(exchange)
    for exchanges in asked.values():
        for resting in exchanges:
            told_s = _told_s(resting, OVERLOADED)
            if told_s > READ_WITHIN_S and _was_read(watch, resting):
                yield from _left_alone(watch, resting, told_s, exchanges)


def _refused_keys_are_set_aside(
    watch: Watch, asked: dict[tuple[str, str, str], list[Exchange]]
) -> Iterator[Violation]:
    """Hold a 401 against what its key was used for next, where the vendor has another key that nothing rests.

    What came late counts for the other key too, and an error inside a 200 may rest it as well as a refusal does.
    """
    for (gateway, target, key), exchanges in asked.items():
        others = [
            one
            for one in watch.exchanges
            if (one.gateway, one.target) == (gateway, target) and text_of(one.asked.members.get("key")) != key
        ]
        if watch.most(f"keys:{target}", 1) < 2 or any(_may_rest(one) for one in others):
            continue
        for refused in exchanges:
            if refused.status == 401 and refused.how == "whole" and _was_read(watch, refused):
                yield from _left_alone(watch, refused, REFUSED_KEY_S, exchanges)


def _may_rest(exchange: Exchange) -> bool:
    return exchange.status in (401, 429) or (
        exchange.status == 200 and exchange.how == "whole" and not exchange.says("finished")
    )


def _is_told_apart(watch: Watch, exchange: Exchange) -> bool:
    return "key" in exchange.asked.members or watch.most(f"keys:{exchange.target}", 1) <= 1


def _told_s(exchange: Exchange, status: int = BUSY) -> float:
    if exchange.told is None or exchange.status != status or exchange.how != "whole":
        return 0.0
    value = exchange.told.members.get("retry_after_s")
    return min(float(value), REST_MAX_S) if isinstance(value, int | float) else 0.0


def _was_read(watch: Watch, exchange: Exchange) -> bool:
    """Tell whether the gateway has certainly read it: its client stayed, and it was settled right after."""
    call, read_at = watch.call(exchange.call), exchange.told_at + READ_WITHIN_S
    if call.left is not None and call.left.at < read_at:
        return False
    if watch.host(exchange.gateway).disturbed(exchange.asked.at, read_at):
        return False
    if watch.stormy(exchange.target, exchange.asked.at, read_at):
        return False
    return any(
        usage.text("target") == exchange.target
        and usage.members["status"] == "failed"
        and exchange.told_at <= usage.at <= read_at
        for usage in watch.usages.get(call.request_id, ())
    )


def _left_alone(watch: Watch, resting: Exchange, told_s: float, exchanges: list[Exchange]) -> Iterator[Violation]:
    begins_at = resting.told_at + READ_WITHIN_S
    ends_at = resting.told_at + told_s * 0.99
    for exchange in exchanges:
        at = exchange.asked.at
        if not begins_at < at < ends_at or exchange.is_repeat:
            continue
        host = watch.host(exchange.gateway)
        if host.changed(resting.told_at, at) or watch.swapped(exchange.gateway, resting.told_at, at):
            continue
        what = (
            f"{exchange.gateway} asked {exchange.target} (exchange {exchange.number}), which had said at"
            f" {resting.told_at:.3f} s to wait for {told_s:.0f} s"
        )
        yield Violation(CODE, at, what, exchange.call)
