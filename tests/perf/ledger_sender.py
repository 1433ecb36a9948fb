"""A gateway of `python -m tests.perf.ledger`: sends batches, one after the other, and prints its processor time.

Arguments: address, number of the gateway, batches, events per batch, batches in flight. It waits for a line on
standard input, so that all gateways begin at once.
"""

import asyncio
import sys
import time

import uvloop

from ktms.adapters.grpc.ledger_client import GrpcLedger
from ktms.domain.access.usage_event import UsageEvent
from ktms.domain.ids import KeyId, ModelName, TenantName
from tests.usage_events import usage_event

KEYS, TENANTS, MODELS = 50, 5, 10


def events_of(first: int, count: int, at_s: float) -> list[UsageEvent]:
    """Make a batch as an installation with some teams would."""
    return [
        usage_event(
            first + number,
            at_s=at_s,
            tenant=TenantName(f"team-{number % TENANTS}"),
            key_id=KeyId(f"key{number % KEYS:07d}"),
            model=ModelName(f"model-{number % MODELS}"),
        )
        for number in range(count)
    ]


async def main(address: str, gateway: int, batches: int, size: int, in_flight: int) -> None:
    """Send all of it."""
    now_s = time.time()  # noqa: TID251  # a benchmark has no clock port
    made = [events_of((gateway * batches + batch) * size + 1_000_000, size, now_s) for batch in range(batches)]
    ledger = GrpcLedger(address)
    await ledger.send(made[0][:1])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    began_s, left = time.process_time(), iter(made)

    async def send() -> None:
        for events in left:
            await ledger.send(events)

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(send())
    sys.stdout.write(f"{time.process_time() - began_s}\n")
    await ledger.close()


if __name__ == "__main__":
    where, *numbers = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(where, *map(int, numbers)))
