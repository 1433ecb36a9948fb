"""The agents of machines that join by themselves: each announces its machine again and again to one gateway.

What it was told is a fact. Not here: what it says (`sim/announcements.py`), what its machine answers to calls
(`sim/fakes/engines/agent.py`).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from sim.actors.answer import Answer
from sim.actors.caller import Clients
from sim.actors.request import Request
from sim.draft import AgentDraft, CallDraft
from sim.journal.journal import Journal

HOST = "agent"

PATIENCE_S = 10.0
"""An announcement that has no answer by then is given up; the next one follows."""


@dataclass(frozen=True, slots=True)
class Announcing:
    """What one agent says, and to whom; `epoch_ms` is what it says of its own start."""

    agent: AgentDraft
    request: Callable[[], Request]
    epoch_ms: int
    clients: Clients
    journal: Journal


async def announce_for_ever(work: Announcing) -> None:
    """Announce from its moment on, until cancelled."""
    await asyncio.sleep(work.agent.at_s)
    while True:
        await _announce(work)
        await asyncio.sleep(work.agent.every_s)


async def _announce(work: Announcing) -> None:
    answer = Answer(lambda _: None)
    place = CallDraft(at_s=0.0, gateway=work.agent.gateway)
    try:
        async with asyncio.timeout(PATIENCE_S):
            line, _ = await work.clients.open(place, fresh=True)
            line.ask(work.request(), answer)
            while not answer.ended:
                answer.changed.clear()
                await answer.changed.wait()
            line.leave("fin")
    except (OSError, TimeoutError):
        pass  # status 0 says so
    work.journal.note(
        "announced",
        HOST,
        machine=work.agent.machine,
        node=work.agent.node,
        gateway=work.clients.gateway_of(place),
        epoch=work.epoch_ms,
        status=answer.status,
        code=answer.code,
    )
