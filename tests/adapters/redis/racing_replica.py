"""A replica as a process of its own, for the race: it reserves, settles and beats until it is told to end.

Each line that it is told is a command (`reserve`, `settle`, `end`), each that it says the answer: how many were
reserved now, and the most calls and micro-dollars that any answer told of the account.
"""

import asyncio
import sys
from contextlib import suppress

from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.quota import RedisQuotaStore
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Account
from ktms.domain.ids import RequestId
from ktms.ports.quota_store import Reserved, Unread, Wish

BUDGET, WISHED, USED = 1_000_000, 100_000, 40_000
CALLS = 50
ACCOUNTS = (
    Account("key:race", Limits(usd_per_day_micros=BUDGET)),
    Account("tenant:race", Limits(usd_per_month_micros=BUDGET)),
)
PATIENT_S = 5.0


async def serve(url: str, name: str, ttl_s: float) -> None:
    async with RedisLink(url, timeout_s=PATIENT_S) as link, asyncio.TaskGroup() as group:
        store = RedisQuotaStore(link, name, ttl_s=ttl_s)
        ended = asyncio.Event()
        group.create_task(beat(store, ttl_s / 3, ended))
        held: list[Wish] = []
        made = 0
        while (command := await asyncio.to_thread(sys.stdin.readline)).strip() != "end":
            running = micros = 0
            if command.strip() == "reserve":
                wishes = [Wish(RequestId(f"{name}-{made + at}"), ACCOUNTS, 0, WISHED) for at in range(CALLS)]
                made += CALLS
                for wish, answer in zip(wishes, await asyncio.gather(*map(store.reserve, wishes)), strict=True):
                    assert not isinstance(answer, Unread)
                    if isinstance(answer, Reserved):
                        held.append(wish)
                    running = max(running, *(state.running for state in answer.states))
                    micros = max(micros, *(state.day_micros for state in answer.states))
            else:
                while held:
                    store.settle(held.pop(), 0, USED)
                await store.beat()
            print(len(held), running, micros, flush=True)  # noqa: T201 - this is how it answers
        ended.set()


async def beat(store: RedisQuotaStore, every_s: float, ended: asyncio.Event) -> None:
    while not ended.is_set():
        await store.beat()
        with suppress(TimeoutError):
            async with asyncio.timeout(every_s):
                await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2], float(sys.argv[3])))
