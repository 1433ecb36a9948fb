"""The end of a run, the same for all: healed, a last call through every gateway, at rest, everybody leaves.

Then what was logged and booked is read, and the journal is in order for its judges. Not here: what came before.
"""

import asyncio

from chaos.stand.stand import Stand
from chaos.traffic.caller import Caller
from chaos.traffic.lost import note_lost
from chaos.traffic.question import Question
from chaos.traffic.usage_rows import Booked, note_usage, read_booked
from sim.journal.journal import Journal

LAST = "last"
"""Begins the names of the calls that must work in the end."""


async def bring_to_an_end(running: Stand, caller: Caller, *, converges_s: float = 0.0) -> tuple[Journal, Booked]:
    """End a run; gives the journal to be judged, and what was booked.

    `converges_s`: what a breaker or a rest may need before a call must work.

    Raises:
        ProcessFailed: a process ended by itself, or does not leave.
    """
    running.phase("heal")
    await running.heal()
    await asyncio.sleep(converges_s)
    running.calm()
    key = caller.keys[0]
    async with asyncio.TaskGroup() as calls:
        for gateway in running.gateways:
            calls.create_task(caller.make(Question(f"{LAST}-{gateway.name}", gateway.name, key, streamed=False)))
    await caller.let_go()
    await running.at_rest()
    await note_lost(running)
    running.phase("over")
    await running.end()
    booked = await read_booked(running.ledger_url)
    running.note_logs(booked.batch_lines)
    note_usage(running.journal, booked)
    return running.journal.settled(), booked
