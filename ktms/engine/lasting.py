"""Loops beside the calls that outlive what nobody foresaw.

Rules: a loop that raises is told of and begun again after a pause, which grows while it fails; neither calls nor
other loops notice, because a mistake in one of them must not end a gateway that answers. What a loop foresees it
handles itself: each line of the log that comes from here is a mistake of ours.
Not here: what decides that a gateway must not run at all (`app/running.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from ktms.domain.fault import fault_of
from ktms.ports.telemetry import Count, Telemetry

Loop = Callable[[], Awaitable[None]]

AGAIN_S = 1.0
"""Pause before a loop that failed is begun again: leases live on for several of it."""

AGAIN_MAX_S = 30.0
"""A loop that fails at once each time writes two lines a minute."""

CALM_S = 60.0
"""Whoever ran for so long has not failed again, but anew."""


async def run_lasting(loops: Mapping[str, Loop], telemetry: Telemetry) -> None:
    """Run loops side by side until cancelled, each by its name; it ends when all have ended by themselves."""
    async with asyncio.TaskGroup() as group:
        for name, loop in loops.items():
            group.create_task(lasting(name, loop, telemetry), name=name)


async def lasting(name: str, loop: Loop, telemetry: Telemetry) -> None:
    """Run one loop until it ends by itself or is cancelled."""
    now = asyncio.get_running_loop().time
    pause_s = AGAIN_S
    while True:
        began_at = now()
        try:
            return await loop()
        except asyncio.CancelledError as error:
            if _is_asked_to_end():
                raise
            _tell(name, error, telemetry)  # somebody lost a cancellation; the loop must not end in silence
        except Exception as error:  # noqa: BLE001 - the boundary: our mistake costs one turn of one loop
            _tell(name, error, telemetry)
        if now() - began_at >= CALM_S:
            pause_s = AGAIN_S
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, AGAIN_MAX_S)


async def spared(name: str, work: Loop, telemetry: Telemetry) -> None:
    """Carry something out once; a mistake in it is told, and costs no more than this one time."""
    try:
        await work()
    except Exception as error:  # noqa: BLE001 - the boundary: as above, where nothing is begun again
        _tell(name, error, telemetry)


def _is_asked_to_end() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _tell(name: str, error: BaseException, telemetry: Telemetry) -> None:
    telemetry.counted(Count.LOOPS_FAILED, label=name)
    telemetry.event("error", "internal_error", loop=name, **fault_of(error))
