"""Questions that are asked again and again, of a server that answers as a gateway does."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest

from chaos.stand.answering import Pace
from chaos.stand.client_keys import ClientKey, ClientKeys
from chaos.stand.run_journal import RunJournal
from chaos.stand.stand import Stand
from chaos.stand.target import Manner, Target
from chaos.stand.targets import targets
from chaos.traffic.flood import flood
from chaos.traffic.question import Question

MANNER = Manner("cloud-a", cloud=True, model="m", window=None, pace=Pace(0.0, 0.0))
QUESTION = Question("flood", "gw1", "app-1", streamed=False, tokens=2)
CALLS = 40


@dataclass(frozen=True)
class Place:
    """What a flood needs of a stand."""

    target: Target
    journal: RunJournal
    keys: ClientKeys = field(default_factory=lambda: ClientKeys([ClientKey("app-1", "id-1", "token-1")]))

    def gateway(self, name: str) -> SimpleNamespace:  # noqa: ARG002  # all are the one target
        return SimpleNamespace(port=self.target.port)


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    journal = RunJournal()
    async with targets([MANNER], journal) as found:
        yield Place(found["cloud-a"], journal)


async def test_every_call_of_a_flood_is_told_and_answered(place: Place) -> None:
    await flood(cast("Stand", place), QUESTION, "gw1", CALLS)
    sent = {fact.text("call"): fact.text("question") for fact in place.journal.of("call_sent")}
    ended = {fact.text("call"): fact.text("outcome") for fact in place.journal.of("call_ended")}
    assert (len(sent), set(sent.values())) == (CALLS, {"flood"})
    assert (ended.keys(), set(ended.values())) == (sent.keys(), {"whole"})


async def test_all_ask_the_same_and_a_target_knows_them_apart(place: Place) -> None:
    await flood(cast("Stand", place), QUESTION, "gw1", CALLS)
    asked = [fact.text("call") for fact in place.journal.of("asked")]
    assert len(set(asked)) == CALLS
