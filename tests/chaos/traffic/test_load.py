"""Calls as they are drawn, and as they come."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from chaos.stand.client_keys import STRANGER
from chaos.stand.run_journal import RunJournal
from chaos.traffic.caller import Caller
from chaos.traffic.load import Due, Load, Mix
from chaos.traffic.question import Question

CALLS = 2000


class Named(Caller):
    """Clients that make no call."""

    def __init__(self) -> None:
        self.journal = RunJournal()

    @property
    def gateways(self) -> tuple[str, ...]:
        return ("gw1", "gw2", "gw3")

    @property
    def keys(self) -> tuple[str, ...]:
        return ("app-1", "app-2")


class Waiting(Named):
    """Clients whose calls end only when they are released."""

    def __init__(self, enough: int) -> None:
        super().__init__()
        self.made = 0
        self.enough, self.released = asyncio.Event(), asyncio.Event()
        self._enough = enough

    async def make(self, question: Question) -> str:  # noqa: ARG002  # whatever is asked
        self.made += 1
        if self.made == self._enough:
            self.enough.set()
        await self.released.wait()
        return "done"


def drawn(seed: int = 1, mix: Mix | None = None) -> Sequence[Due]:
    return tuple(islice(Load(Named(), mix or Mix(), seed).draw(), CALLS))


def test_the_same_seed_asks_the_same_at_the_same_moments() -> None:
    assert drawn(5) == drawn(5)
    assert drawn(5) != drawn(6)


def test_calls_come_at_their_rate() -> None:
    assert 0.9 < drawn()[-1].at_s / (CALLS / Mix().rate_per_s) < 1.1


def test_every_gateway_and_key_has_its_turn() -> None:
    gateways = Counter(due.question.gateway for due in drawn())
    keys = Counter(due.question.key for due in drawn())
    assert max(gateways.values()) - min(gateways.values()) <= 1
    assert keys.keys() == {"app-1", "app-2", STRANGER}


def test_shares_are_as_they_were_wished() -> None:
    found = [due.question for due in drawn(mix=Mix(streamed=0.5, placements={"cloud_only": 1}))]
    assert 0.45 < sum(one.streamed for one in found) / CALLS < 0.55
    assert {one.placement for one in found} == {"cloud_only"}


def test_no_name_comes_twice_in_several_runs_of_one_load() -> None:
    load = Load(Named(), Mix(), 1)
    names = [due.question.name for _ in range(2) for due in islice(load.draw(), 100)]
    assert len(set(names)) == 200


def test_a_key_that_asks_again_asks_the_same_byte_for_byte_under_new_names() -> None:
    found = [due for due in drawn(mix=Mix(again=frozenset({"app-2"}))) if due.question.key == "app-2"]
    bodies: dict[str, set[str]] = {}
    for due in found:
        bodies.setdefault(due.question.said_as, set()).add(repr((due.question.body(), due.question.placement)))
    assert {len(said) for said in bodies.values()} == {1}
    assert len({due.question.name for due in found}) == len(found) > 10 * len(bodies)


def test_a_key_that_asks_again_has_a_new_question_every_second() -> None:
    found = [due for due in drawn(mix=Mix(again=frozenset({"app-2"}))) if due.question.key == "app-2"]
    assert all(int(due.question.said_as.removeprefix("again-")) <= due.at_s for due in found)


async def test_calls_come_whatever_becomes_of_those_before_and_all_are_waited_for() -> None:
    caller, over = Waiting(enough=20), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(Load(caller, Mix(rate_per_s=1000), seed=1).run_until(over, 10.0))
        await caller.enough.wait()
        over.set()
        caller.released.set()
    assert running.result() == caller.made >= 20


def test_long_streams_have_their_share_and_their_length() -> None:
    found = [due.question for due in drawn(mix=Mix(long=0.3, long_tokens=99, streamed=0.0))]
    long = [one for one in found if one.tokens == 99]
    assert 0.25 < len(long) / CALLS < 0.35
    assert all(one.streamed == (one.tokens == 99) for one in found)


def test_whoever_is_in_turn_is_asked_anew_for_each_call() -> None:
    turns = [("gw1",), ("gw3",)]
    load = Load(Named(), Mix(), 1, lambda: turns[0])
    calls = load.draw()
    first = next(calls).question.gateway
    turns.pop(0)
    assert (first, next(calls).question.gateway) == ("gw1", "gw3")


def test_nodes_are_left_alone_while_it_is_quiet() -> None:
    quiet = Mix(placements={"nodes_only": 1.0}, quiet=(2.0, 4.0))
    asked = {(2.0 <= due.at_s < 4.0, due.question.placement) for due in drawn(mix=quiet)}
    assert asked == {(True, "cloud_only"), (False, "nodes_only")}
