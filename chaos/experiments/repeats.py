"""Calls with an Idempotency-Key and a batch while Postgres is away, until keys do not count any more: FP5, FP7.

Words are used before the outage, in it, and again after it: whoever cannot be told whether it is a repeat starts
nothing, so in the end each word is paid once. Not here: known keys (`postgres.py`).
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from chaos.experiments import faults
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.reading import ended, good, looks, share
from chaos.proxy.proxy import Proxy
from chaos.stand.settings import POSTGRES, StandSettings
from chaos.stand.stand import Stand
from chaos.traffic.batch import LINE, BatchClient
from chaos.traffic.caller import Caller, callers
from chaos.traffic.load import Mix
from chaos.traffic.question import Question
from sim.journal.calls import Call
from sim.journal.fact import Fact

AWAY = "postgres_away"

WINDOW_S = 13

VERIFIED_S = 6.0
"""What a key was verified before the outage at most: a round of verification is 5 s, a fifth more or less."""

KNOWN_S = WINDOW_S - VERIFIED_S - 0.5
"""So long every key in use still counts."""

CLOSED_S = WINDOW_S + 1.0
"""From then on none does; a look is a second apart from the next."""

NOTICED_S = 0.3
"""What was under way as the outage began may have had its answer."""

ASKS_EVERY_S = 0.35

WORDS_BEFORE = 6

LINES = 4

SETTINGS = StandSettings(key_window_s=WINDOW_S)

KEY = SETTINGS.keys[0].name


class _Words:
    """Calls with words, each asked through the gateways in turn."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._gateways = itertools.cycle(caller.gateways)
        self._numbers = itertools.count(1)
        self._questions: list[Question] = []

    async def ask_new(self) -> None:
        """Ask something new, with a word of its own."""
        name = f"once-{next(self._numbers)}"
        streamed = len(self._questions) % 2 == 0
        question = Question(name, next(self._gateways), KEY, streamed=streamed, tokens=5, word=name)
        self._questions.append(question)
        await self._caller.make(question)

    async def ask_again(self, question: Question) -> None:
        """Ask the same with the same word, at the next gateway."""
        await self._caller.make(question.again(f"again-{next(self._numbers)}", next(self._gateways)))

    async def ask_on(self, over: asyncio.Event) -> None:
        """Ask new things, and known ones again, until it is over."""
        known = itertools.cycle(tuple(self._questions))
        while not over.is_set():
            await self.ask_new()
            await self.ask_again(next(known))
            await asyncio.sleep(ASKS_EVERY_S)

    async def ask_all_again(self) -> None:
        """Ask everything twice more."""
        for question in (*self._questions, *self._questions):
            await self.ask_again(question)


@asynccontextmanager
async def _away_until_keys_end(stand: Stand) -> AsyncIterator[None]:
    """Let Postgres be away while words and a batch are asked for, and ask for all of them again afterwards."""
    urls = {gateway.name: gateway.url for gateway in stand.gateways}
    first, second, *_ = urls
    async with callers(urls, stand.keys, stand.journal) as caller:
        words = _Words(caller)
        for _ in range(WORDS_BEFORE):
            await words.ask_new()
        batch = BatchClient(1, urls, stand.keys.token_of(KEY), stand.journal)
        file = await batch.upload(first, LINES)
        async with faults.of_proxy(POSTGRES, AWAY, _down_of)(stand), asyncio.TaskGroup() as asking:
            over = asyncio.Event()
            asking.create_task(words.ask_on(over))
            asking.create_task(_ask_for(batch, file, tuple(urls), over))
            try:
                yield
            finally:
                over.set()
        for gateway in stand.gateways:
            await gateway.until_ready()
        await words.ask_all_again()
        made = [await batch.make(gateway, file, "batch") for gateway in (first, second)]
        if made[0] is not None:
            await batch.ended(first, made[0], stand.database_url)


async def _ask_for(batch: BatchClient, file: str, gateways: tuple[str, ...], over: asyncio.Event) -> None:
    in_turn = itertools.cycle(gateways)
    while not over.is_set():
        gateway = next(in_turn)
        await batch.make(gateway, file, "batch")
        await asyncio.sleep(2 * ASKS_EVERY_S)


async def _down_of(proxy: Proxy) -> None:
    await proxy.down()


def _span(broken: Broken) -> tuple[float, float]:
    """Give when Postgres was away, empty where it never was."""
    spans = broken.watch.fault_spans(AWAY)
    return (spans[0].start, spans[0].end) if spans else (0.0, 0.0)


def _in_doubt(broken: Broken) -> list[Call]:
    """Give the calls with words whose key counted while nobody could tell whether they were repeats."""
    since, _ = _span(broken)
    return [
        call
        for call in broken.watch.calls.values()
        if call.word and since + NOTICED_S <= call.sent_at <= since + KNOWN_S
    ]


def _batches_in_doubt(broken: Broken) -> list[Fact]:
    since, _ = _span(broken)
    return [fact for fact in broken.journal.of("batch_asked") if since + NOTICED_S <= fact.at <= since + KNOWN_S]


def _paid(broken: Broken) -> dict[str, int]:
    """Count for each word the calls that a target worked for."""
    counts: dict[str, int] = {}
    for call in broken.watch.calls.values():
        if call.word:
            counts[call.word] = counts.get(call.word, 0) + bool(broken.watch.asked_for.get(call.name))
    return counts


def _nothing_is_started(broken: Broken) -> Iterator[Expected]:
    calls = _in_doubt(broken)
    right = [call for call in calls if (call.status, call.code) == (503, "idempotency_unavailable")]
    begun = [call for call in calls if broken.watch.asked_for.get(call.name)]
    words = f"{share(len(right), len(calls))} calls with a word are told so, {len(begun)} are begun"
    yield Expected("FP5", len(right) == len(calls) > 0 and not begun, words)
    batches = _batches_in_doubt(broken)
    told = [
        fact for fact in batches if (fact.number("status"), fact.text("code")) == (503, "idempotency_unavailable")
    ]
    yield Expected(
        "FP5", len(told) == len(batches) > 0, f"{share(len(told), len(batches))} batches are refused so"
    )


def _each_is_paid_once(broken: Broken) -> Iterator[Expected]:
    counts = _paid(broken)
    once = [word for word, count in counts.items() if count == 1]
    _, until = _span(broken)
    again = ended(call for call in broken.watch.calls.values() if call.word and call.sent_at > until)
    fine = good(again)
    words = f"{share(len(once), len(counts))} words are paid once, {share(len(fine), len(again))} answered later"
    yield Expected("FP5", len(once) == len(counts) > 0 and len(fine) == len(again) > 0, words)
    lines = [name for name in broken.watch.asked_for if name.startswith(LINE)]
    run = sum(len(broken.watch.asked_for[name]) for name in lines)
    made = {fact.text("batch") for fact in broken.journal.of("batch_made")}
    over = [fact for fact in broken.journal.of("batch_over") if fact.number("completed") == LINES]
    words = f"{len(made)} batch is made, {len(over)} completed, {run} lines are asked for {LINES}"
    yield Expected("FP5", len(made) == len(over) == 1 and len(lines) == run == LINES, words)


def _readiness(broken: Broken) -> Iterator[Expected]:
    since, until = _span(broken)
    before = looks(broken, since, since + KNOWN_S)
    ready = [fact for fact in before if fact.members["status"] == 200]
    closed = looks(broken, since + CLOSED_S, until)
    unready = [fact for fact in closed if fact.members["status"] == 503]
    words = f"{share(len(ready), len(before))} looks say ready, then {share(len(unready), len(closed))} unready"
    yield Expected("FP7", len(ready) == len(before) > 0 and len(unready) == len(closed) > 0, words)
    calls = ended(
        call
        for call in broken.watch.calls.values()
        if since + CLOSED_S <= call.sent_at <= until - 1.0 and call.code != "stale"
    )
    refused = [call for call in calls if (call.status, call.code) == (503, "auth_unavailable")]
    words = f"{share(len(refused), len(calls))} calls are then told to come back"
    yield Expected("FP7", len(refused) == len(calls) > 0, words)


def _expects(broken: Broken) -> Iterator[Expected]:
    yield from _nothing_is_started(broken)
    yield from _each_is_paid_once(broken)
    yield from _readiness(broken)


def _paid_again(broken: Broken) -> float:
    return float(sum(max(0, count - 1) for count in _paid(broken).values()))


REPEAT_EXPERIMENTS = (
    Experiment(
        "postgres-away-words",
        "Postgres is away for longer than keys count; calls carry Idempotency-Keys",
        ("FP5", "FP7"),
        _away_until_keys_end,
        lambda broken: len(_in_doubt(broken)),
        _expects,
        felt_min=10,
        spans=Spans(before_s=2.0, fault_s=CLOSED_S + 3.0, after_s=2.0),
        settings=SETTINGS,
        mix=Mix(rate_per_s=30.0),
        figure=Figure("repeats-in-doubt", "calls with a word that are paid once more", _paid_again, 5.0),
    ),
)
