"""What Redis says it was asked, and what it still holds: read from outside the gateway, by a client of its own.

Redis counts commands, those inside of scripts too. Each script that a call needs has one command that no other
runs and that it runs once; `SCRIPTS` names it, and a test holds it against the scripts.
"""

from typing import Any

import redis.asyncio

from ktms.adapters.redis.keys import BEATS, account_key, held_by, leases_of
from ktms.adapters.redis.quota_words import unpack_counters
from ktms.domain.ids import NodeName

SCRIPTS = {"reserve": "hsetnx", "settle": "hdel", "take": "zscore", "release": "zrem"}


async def read_counts(url: str, node: NodeName) -> dict[str, int]:
    """Read everything; `scripts` are the script calls of all kinds, those of the background included."""
    client: Any = redis.asyncio.Redis.from_url(url)  # its hints allow for text, which it is not told to give
    try:
        stats: dict[str, Any] = await client.info("commandstats")
        holders = [name for name in await client.hkeys(BEATS) if name != b"~"]
        held = [int(await client.hlen(held_by(name.decode()))) for name in holders]
        leases = await client.zrange(leases_of(node), 0, -1)
        accounts = [unpack_counters(await client.get(key)) async for key in client.scan_iter(account_key("*"))]
    finally:
        await client.aclose()
    return {
        **{script: _calls(stats, command) for script, command in SCRIPTS.items()},
        "scripts": _calls(stats, "evalsha"),
        "leases": sum(not lease.startswith(b"~") for lease in leases),  # `~`: an answer that drains, not a lease
        "reservations": sum(held),
        "running": sum(account.running for account in accounts),
        "reserved_micros": sum(account.day_reserved + account.month_reserved for account in accounts),
    }


def _calls(stats: dict[str, Any], command: str) -> int:
    found: int = stats.get(f"cmdstat_{command}", {"calls": 0})["calls"]
    return found
