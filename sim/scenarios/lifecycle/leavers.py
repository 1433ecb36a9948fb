"""S33: clients leave before the first byte, in the middle, or never read; none of them holds anything for long.

Over HTTP: what a target is asked for ends within a second of its client's leaving, the slot with it; a client that
does not read is cut at its limit, and what waits for it until then is bounded.
"""

import math
from collections.abc import Iterator

from sim.draft import CallDraft, Draft, Knobs, Level, Manner, NodeDraft, VendorDraft
from sim.journal.calls import Call, Exchange
from sim.journal.journal import Journal
from sim.scenarios.books.reading import BLINK_S, Books, answered
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

NOTICED_S = 1.0
"""Whatever a client that left was waiting for is given up within this."""

FILLS_S = 12.0
"""A fast answer fills all buffers within this; only then a client counts as one that takes nothing."""

BUFFER_BYTES_MAX = 320 * 1024
"""Per client that does not read: what networks hold, and the high-water mark of a connection."""

OTHERS_BYTES_MAX = 64 * 1024
"""What all other connections of a gateway hold for a moment."""

FULL_BYTES_MIN = 200 * 1024
"""A gateway that holds less was not put to the test."""

LONG_TOKENS = 3000
"""An answer that fits into no buffer."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(1, 2)
    calls = [
        *(_before(chance, replicas) for _ in range(chance.between(3, 8))),
        *(_midway(chance, replicas) for _ in range(chance.between(3, 8))),
        *(_stalling(chance, replicas) for _ in range(chance.between(1, 3))),
        *(_staying(chance, replicas) for _ in range(chance.between(2, 6))),
    ]
    pace_s = chance.pick((0.001, 0.002))
    vendors = [
        VendorDraft(f"cloud-{letter}", first_token_s=3.0, token_s=pace_s, azure=chance.happens(0.2))
        for letter in "ab"[: chance.between(1, 2)]
    ]
    node = NodeDraft("node-1", slots=chance.between(2, 4), window=None, first_token_s=3.0, token_s=pace_s)
    return Draft(
        level=Level.WIRE,
        replicas=replicas,
        vendors=tuple(vendors),
        nodes=(node,),
        knobs=Knobs(client_stall_s=float(chance.between(8, 15))),
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        runs_s=60.0,
    )


def _call(chance: Chance, replicas: int, manner: Manner, after: float, tokens: int, streamed: bool) -> CallDraft:
    return CallDraft(
        at_s=round(chance.uniform(0.0, 20.0), 3),
        gateway=chance.between(0, replicas - 1),
        streamed=streamed,
        tokens=tokens,
        manner=manner,
        after=after,
    )


def _before(chance: Chance, replicas: int) -> CallDraft:
    after = round(chance.uniform(0.01, 1.0), 4)
    return _call(chance, replicas, Manner.LEAVES_BEFORE, after, chance.between(1, 50), chance.happens(0.6))


def _midway(chance: Chance, replicas: int) -> CallDraft:
    return _call(chance, replicas, Manner.LEAVES_MIDWAY, chance.between(2, 120), LONG_TOKENS, streamed=True)


def _stalling(chance: Chance, replicas: int) -> CallDraft:
    return _call(chance, replicas, Manner.STALLS, chance.between(1, 50), LONG_TOKENS, streamed=True)


def _staying(chance: Chance, replicas: int) -> CallDraft:
    return _call(chance, replicas, Manner.READS, 0, chance.between(1, 60), chance.happens(0.6))


def _groups(books: Books) -> tuple[list[Call], list[Call], list[Call]]:
    """Give the calls whose clients left before any byte, in the middle, and that stopped reading."""
    calls = [call for call in books.watch.calls.values() if books.watch.asked(call)]
    left = [call for call in calls if call.left is not None]
    before = [call for call in left if call.begun is None]
    midway = [call for call in left if call.begun is not None]
    return before, midway, [call for call in calls if call.stalled is not None and call.left is None]


def _active(journal: Journal) -> Iterator[str]:
    if all(_groups(Books(journal))):
        yield "S33"


def _seen(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    before, midway, stalled = _groups(books)
    others = [call for call in books.sent(0.0, books.watch.phases.get("heal", 0.0)) if call.stalled is None]
    if (
        before
        and midway
        and stalled
        and any(_is_node(one) for call in (*before, *midway) for one in books.watch.asked(call))
        and all(_given_up(books, call) and _slot_is_free(books, call) for call in (*before, *midway))
        and all(_cut(books, call) and _bounded(books, call, stalled) for call in stalled)
        and others
        and all(answered(call) for call in others)
    ):
        yield "S33"


def _given_up(books: Books, call: Call) -> bool:
    assert call.left is not None
    by = call.left.at + NOTICED_S
    return all(one.how == "left" and one.told_at <= by for one in books.watch.asked(call))


def _slot_is_free(books: Books, call: Call) -> bool:
    """Tell whether the slots that it held were given back in time."""
    assert call.left is not None
    by, journal = call.left.at + NOTICED_S, books.journal
    back = {fact.text("lease"): fact.at for fact in journal.of("lease_released")}
    return all(back.get(_lease_of(books, one), by + 1) <= by for one in books.watch.asked(call) if _is_node(one))


def _is_node(exchange: Exchange) -> bool:
    return not exchange.asked.has("cloud")


def _lease_of(books: Books, exchange: Exchange) -> str:
    """Give the lease that its gateway took right before it asked."""
    taken = [
        fact.text("lease")
        for fact in books.journal.of("lease_taken")
        if (fact.host, fact.members["node"]) == (exchange.gateway, exchange.target)
        and fact.at <= exchange.asked.at
    ]
    return taken[-1] if taken else ""


def _settled_at(books: Books, call: Call) -> float:
    """Give when its gateway gave up on a call; infinite where it did not."""
    booked = [
        fact.at for fact in books.watch.usages.get(call.request_id, ()) if fact.members["status"] == "cancelled"
    ]
    return booked[0] if booked else math.inf


def _cut(books: Books, call: Call) -> bool:
    """Tell whether a client that reads nothing lost its answer at the limit: not before, and not long after.

    A target whose whole answer lies in the buffers is through already; any other is left within the second.
    """
    assert call.stalled is not None
    earliest, cut_at = call.stalled.at + books.watch.number("client_stall_s", 60.0), _settled_at(books, call)
    return (
        earliest - BLINK_S <= cut_at <= earliest + FILLS_S
        and all(one.told_at <= cut_at + NOTICED_S for one in books.watch.asked(call))
        and call.outcome == "cut"
    )


def _bounded(books: Books, call: Call, stalled: list[Call]) -> bool:
    """Tell whether its gateway, sampled while it held all it may hold for this client, held no more than that."""
    assert call.stalled is not None
    until = _settled_at(books, call)
    held = [
        (fact.number("buffered_bytes"), _stalled_at(stalled, call.gateway, fact.at))
        for fact in books.journal.of("sample")
        if fact.host == call.gateway and call.stalled.at <= fact.at <= until
    ]
    return any(bytes_held >= FULL_BYTES_MIN for bytes_held, _ in held) and all(
        bytes_held <= BUFFER_BYTES_MAX * clients + OTHERS_BYTES_MAX for bytes_held, clients in held
    )


def _stalled_at(stalled: list[Call], gateway: str, at: float) -> int:
    return sum(
        call.gateway == gateway and call.stalled is not None and call.stalled.at <= at <= call.over_at
        for call in stalled
    )


LEAVER_SCENARIOS = (
    Scenario("s33-leavers", "clients that leave or do not read hold nothing", ("S33",), _draft, _seen, _active),
)
