"""Faults of targets that follow one another inside of one experiment, each at its moment.

Whatever is on at the end of the block is switched off. Not here: faults that are on all the while (`faults.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from chaos.experiments.experiment import Breaks
from chaos.stand.stand import Stand


@dataclass(frozen=True, slots=True)
class Turn:
    """One fault of one target, switched on or off so long after the block was entered; see `Target.mode`."""

    at_s: float
    target: str
    mode: str
    amount: float = 0.0
    every: int = 1
    on: bool = True


def of_turns(*turns: Turn) -> Breaks:
    """Carry these out, in the order of their moments; what is due at once is on when the block begins."""
    ordered = sorted(turns, key=lambda turn: turn.at_s)

    @asynccontextmanager
    async def broken(stand: Stand) -> AsyncIterator[None]:
        at_once = [turn for turn in ordered if not turn.at_s]
        later = [turn for turn in ordered if turn.at_s]
        for turn in at_once:
            await _carry_out(stand, turn)
        async with asyncio.TaskGroup() as group:
            rest = group.create_task(_later(stand, later))
            try:
                yield
            finally:
                rest.cancel()
                for target in {turn.target for turn in ordered}:
                    await stand.targets[target].heal()

    return broken


async def _later(stand: Stand, turns: Sequence[Turn]) -> None:
    began_at = asyncio.get_running_loop().time()
    for turn in turns:
        await asyncio.sleep(began_at + turn.at_s - asyncio.get_running_loop().time())
        await _carry_out(stand, turn)


async def _carry_out(stand: Stand, turn: Turn) -> None:
    await stand.targets[turn.target].mode(turn.mode, turn.amount, on=turn.on, every=turn.every)
