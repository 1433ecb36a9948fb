"""A gateway's accounting and nothing else, as a process: records events by number, and ends when all are sent.

Arguments: address of the ledger, spool folder, progress file, first number, number after the last, events per
second. The outbox, the spool and the way to the ledger are production's own. The number of each event that was
recorded is in the progress file (8 bytes each) at once, so it is known of a killed sender too.
"""

import asyncio
import os
import sys
from pathlib import Path

import uvloop

from ktms.adapters.files.usage_spool import FileUsageSpool
from ktms.adapters.grpc.ledger_client import GrpcLedger
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.system.entropy import SystemEntropy
from ktms.domain.access.usage_event import UsageEvent
from ktms.domain.ids import KeyId, ModelName, TenantName
from ktms.engine.outbox import Outbox
from tests.engine.virtual_loop import until
from tests.usage_events import usage_event

BLOCK = 50
NUMBER_BYTES = 8


async def main(address: str, folder: Path, progress: Path, numbers: range, per_s: float) -> None:
    """Record all, and see them sent."""
    handle = os.open(progress, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    ledger = GrpcLedger(address)
    outbox = Outbox(ledger, FileUsageSpool(folder), SystemEntropy(), MemoryTelemetry())
    async with asyncio.TaskGroup() as group:
        running = group.create_task(outbox.run())
        due_at = asyncio.get_running_loop().time()
        for start in range(numbers.start, numbers.stop, BLOCK):
            for number in range(start, min(start + BLOCK, numbers.stop)):
                outbox.record(_event(number))
                os.write(handle, number.to_bytes(NUMBER_BYTES, "big"))
            due_at += BLOCK / per_s
            await until(due_at)
        await outbox.flush()
        running.cancel()
    outbox.close()
    await ledger.close()


def _event(number: int) -> UsageEvent:
    return usage_event(
        number,
        tenant=TenantName(f"team-{number % 3}"),
        key_id=KeyId(f"key-{number % 7}"),
        model=ModelName(f"model-{number % 5}"),
    )


if __name__ == "__main__":
    where, spool, told, first, end, pace = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(where, Path(spool), Path(told), range(int(first), int(end)), float(pace)))
