"""I2: every attempt is settled exactly once: one usage event per exchange of a living gateway, and no other.

Each event has an id of its own; the events of a call are the attempts of its record, in their order. An exchange
that a target saw has its event; an event that says a target answered has its exchange. A request that was sent
once more because its connection was dead belongs to the same attempt. Status and story fit: what is `ok` was
finished, who is `cancelled` had left. Attempts that never reached a target are `failed` or `cancelled`.
Amounts fit: the vendor's own counts where it gave them, nothing for what never reached a client, else an estimate
within what the target said. A stream that a sound target was still speaking is not given up.
What a gateway counted as lost may be missing, as many as it counted and no other (FL2).
"""

from collections import Counter
from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.calls import Call, Exchange, text_of
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I2"
TITLE = "each attempt is settled exactly once"

HTTP_UNAVAILABLE = 503
ANSWERED = frozenset({"ok", "refused", "interrupted"})
"""What an attempt can only be if its target answered."""

NOTHING_DELIVERED = frozenset({"failed", "refused"})

BYTES_PER_TOKEN = 4
"""How an answer is estimated whose vendor gave no counts (docs/api.md, Usage)."""

CALL_TOTAL_S, ATTEMPT_TOTAL_S = 660.0, 600.0

LINE = "batch"
"""Begins the name of a line of a batch, which is judged by I15: its runs are not all booked."""

AT_ONCE_S = 0.05

IDLE_JUDGED_S = 5.0
"""Where a target may be silent for less than this, a slow one can seem to have stalled."""


def check(journal: Journal) -> Iterator[Violation]:
    """Find exchanges without a usage event, events without an exchange, doubled and implausible ones."""
    watch = watch_of(journal)
    lost = _lost(watch, journal)
    yield from _ids_are_unique(journal)
    yield from _events_are_attempts(watch, lost)
    for call in watch.calls.values():
        if call.request_id and call.request_id not in lost:
            yield from _call_is_settled(watch, call)
    yield from _counts_agree(watch, lost)
    yield from _no_more_is_counted(watch, journal)


def _missing(watch: Watch, host: str) -> Iterator[tuple[str, int]]:
    """Give a gateway's requests of which nothing was booked, the oldest first, and how many events each has."""
    for request_id, records in watch.records.items():
        count = len(watch.dialled(records[0]))
        if records[0].host == host and count and not watch.usages.get(request_id):
            yield request_id, count


def _lost(watch: Watch, journal: Journal) -> frozenset[str]:
    """Give the requests whose events may be those that their gateway counted as lost."""
    found = set()
    for fact in journal.of("usage_lost"):
        left = fact.number("amount")
        for request_id, count in _missing(watch, fact.host):
            left -= count
            if left >= 0:
                found.add(request_id)
    return frozenset(found)


def _no_more_is_counted(watch: Watch, journal: Journal) -> Iterator[Violation]:
    for fact in journal.of("usage_lost"):
        missing = sum(count for _, count in _missing(watch, fact.host))
        if fact.number("amount") > missing and not watch.host(fact.host).crashed(0, watch.ends_at):
            what = f"{fact.host} counted {fact.number('amount'):.0f} usage events as lost, {missing} are missing"
            yield Violation(CODE, fact.at, what)


def _ids_are_unique(journal: Journal) -> Iterator[Violation]:
    seen: dict[str, Fact] = {}
    for fact in journal.of("usage"):
        name = fact.text("event_id")
        if fact.members.get("batch"):
            continue  # a line that is run again is booked under its one id again (I15)
        if name in seen:
            what = f"usage event {name} of {seen[name].host} came again from {fact.host}"
            yield Violation(CODE, fact.at, what)
        seen[name] = fact


def _events_are_attempts(watch: Watch, lost: frozenset[str]) -> Iterator[Violation]:
    """Hold the events of each request against the story that its record tells."""
    for request_id, records in watch.records.items():
        record = records[0]
        story = [attempt.name for attempt in watch.dialled(record)]
        booked = [fact.text("target") for fact in watch.usages.get(request_id, ())]
        if story != booked and request_id not in lost:
            what = f"{record.host} recorded {request_id} with attempts at {story}, but settled {booked}"
            yield Violation(CODE, record.at, what)
    for request_id, usages in watch.usages.items():
        first = usages[0]
        if request_id not in watch.records and not first.members.get("batch") and not _is_open(watch, first):
            yield Violation(CODE, first.at, f"{first.host} settled {request_id}, of which it has no record")


def _is_open(watch: Watch, usage: Fact) -> bool:
    """Tell whether its call may still have been under way when its gateway or the run ended."""
    return not watch.over or any(at >= usage.at for at in watch.host(usage.host).crashes)


def _call_is_settled(watch: Watch, call: Call) -> Iterator[Violation]:
    usages = watch.usages.get(call.request_id, [])
    asked = watch.asked(call)
    yield from _each_asked_is_settled(watch, call, asked, usages)
    seen = Counter(exchange.target for exchange in asked)
    answered = Counter(usage.text("target") for usage in usages if _was_answered(watch, usage))
    for target, count in (answered - seen).items():
        what = f"{count} usage events of {target} say that it answered, which never saw the call"
        yield Violation(CODE, usages[0].at, what, call.name)
    by_target = Counter(usage.text("target") for usage in usages)
    for exchange in asked:
        if by_target[exchange.target] == 1 == seen[exchange.target]:
            usage = next(fact for fact in usages if fact.text("target") == exchange.target)
            yield from _fits(watch, call, exchange, usage)
            yield from _costs(exchange, usage)
            yield from _was_not_given_up(watch, call, exchange, usage)


def _each_asked_is_settled(
    watch: Watch, call: Call, asked: list[Exchange], usages: list[Fact]
) -> Iterator[Violation]:
    free = Counter(usage.text("target") for usage in usages)
    for exchange in asked:
        if free[exchange.target] > 0:
            free[exchange.target] -= 1
        elif not watch.lost_with(exchange) and watch.over:
            what = f"{exchange.gateway} asked {exchange.target} (exchange {exchange.number}), no usage event"
            yield Violation(CODE, exchange.asked.at, what, call.name)


def _was_answered(watch: Watch, usage: Fact) -> bool:
    """Tell whether its target must have seen the call; an engine never sees what its agent refuses (FN3)."""
    if usage.has("from_cache"):
        return False  # nobody was asked
    if usage.members.get("http_status") == HTTP_UNAVAILABLE and watch.text(f"agent:{usage.text('target')}"):
        return False
    return usage.members["status"] in ANSWERED or usage.has("http_status")


def _fits(watch: Watch, call: Call, exchange: Exchange, usage: Fact) -> Iterator[Violation]:
    status = usage.text("status")
    wrong = ""
    if status == "cancelled" and not _client_or_gateway_left(watch, call):
        wrong = "although its client stayed"
    elif exchange.told is None or exchange.late:
        return
    elif status == "ok" and not _is_finished(call, exchange):
        wrong = f"although the answer was not finished ({exchange.how})"
    elif status == "interrupted" and not exchange.says("visible"):
        wrong = "although nothing visible was sent"
    elif status == "refused" and not (exchange.status == 200 or 400 <= exchange.status < 500):
        wrong = f"although the target answered {exchange.status}"
    if wrong:
        what = f"{usage.host} settled exchange {exchange.number} at {exchange.target} as {status}, {wrong}"
        yield Violation(CODE, usage.at, what, call.name)


def _costs(exchange: Exchange, usage: Fact) -> Iterator[Violation]:
    """Hold what an attempt was booked with against what its target said that it was."""
    told = exchange.told
    if told is None or exchange.late or "usage_given" not in told.members:
        return
    status = usage.text("status")
    prompt, completion = usage.number("prompt_tokens"), usage.number("completion_tokens")
    said = told.text("text")
    most = max(len(said.split()), len(said.encode()) // BYTES_PER_TOKEN) + 1
    wrong = ""
    if status == "ok" and exchange.how == "whole" and told.has("usage_given"):
        right = told.number("prompt_tokens"), told.number("completion_tokens")
        if usage.has("estimated") or (prompt, completion) != right:
            wrong = f"its target counted {right[0]:.0f} and {right[1]:.0f}"
    elif status in NOTHING_DELIVERED and not told.has("usage_given") and (prompt or completion):
        wrong = "nothing of it reached the client"
    elif usage.has("estimated") and completion > most:
        wrong = f"all that was said is {most:.0f} at most"
    if wrong:
        what = (
            f"{usage.host} booked {prompt:.0f} and {completion:.0f} tokens for exchange {exchange.number} at"
            f" {exchange.target} ({status}), {wrong}"
        )
        yield Violation(CODE, usage.at, what, exchange.call)


def _was_not_given_up(watch: Watch, call: Call, exchange: Exchange, usage: Fact) -> Iterator[Violation]:
    """Find attempts that failed although their target, without any fault, had finished or was about to go on."""
    lasted_s = usage.members.get("duration_s")
    if exchange.late or call.takes_its_time or not isinstance(lasted_s, int | float):
        return
    cut_off = usage.members["status"] == "interrupted" and exchange.how == "left"
    whole = exchange.how == "whole" and exchange.says("finished") and exchange.status == 200
    if not cut_off and not (whole and usage.members["status"] in ("failed", "interrupted", "refused")):
        return
    total_s = min(watch.number("call_total_s", CALL_TOTAL_S), ATTEMPT_TOTAL_S)
    excused = (
        (exchange.says("prompt_cut") and usage.members["status"] == "failed")  # it answers half of the prompt
        or usage.at - call.sent_at > total_s - 1
        or abs(lasted_s - watch.number("first_token_s", 60.0)) < AT_ONCE_S  # its timer, a moment before the answer
        or watch.number("idle_s", 45.0) < IDLE_JUDGED_S
        or watch.troubled(exchange.target, exchange.asked.at, usage.at)
        or watch.host(exchange.gateway).disturbed(exchange.asked.at, usage.at)
    )
    if not excused:
        was = "had finished" if whole else "was about to go on"
        what = f"{usage.host} gave up exchange {exchange.number} at {exchange.target}, which {was}"
        yield Violation(CODE, usage.at, what, call.name)


def _is_finished(call: Call, exchange: Exchange) -> bool:
    if exchange.status != 200:
        return False
    return exchange.says("finished") or (not call.streamed and exchange.how == "whole")


def _client_or_gateway_left(watch: Watch, call: Call) -> bool:
    if call.left is not None or call.takes_its_time or call.outcome == "cut":
        return True
    return watch.host(call.gateway).disturbed(call.sent_at, min(call.over_at, watch.ends_at))


def _counts_agree(watch: Watch, lost: frozenset[str]) -> Iterator[Violation]:
    """Count per gateway and target, for calls whose clients left before the gateway told them an id."""
    if not watch.over:
        return
    settled: Counter[tuple[str, str]] = Counter()
    answered: Counter[tuple[str, str]] = Counter()
    for usages in watch.usages.values():
        for usage in usages:
            if usage.members.get("batch"):
                continue
            between = (usage.host, usage.text("target"))
            settled[between] += 1
            answered[between] += _was_answered(watch, usage)
    asked = Counter(
        (one.gateway, one.target) for one in watch.exchanges if not one.repeated and not one.call.startswith(LINE)
    )
    excused = Counter(
        (one.gateway, one.target)
        for one in watch.exchanges
        if not one.call.startswith(LINE)
        and (_may_be_unsettled(watch, one) or watch.call(one.call).request_id in lost)
    )
    for between, count in asked.items():
        if settled[between] < count - excused[between]:
            what = f"{between[0]} asked {between[1]} {count} times and settled {settled[between]}"
            yield Violation(CODE, watch.ends_at, what)
    for between, count in answered.items():
        if count > asked[between]:
            what = f"{between[0]} settled {count} answers of {between[1]}, which it asked {asked[between]} times"
            yield Violation(CODE, watch.ends_at, what)


def _may_be_unsettled(watch: Watch, exchange: Exchange) -> bool:
    return not exchange.repeated and (not text_of(exchange.call) or watch.lost_with(exchange))
