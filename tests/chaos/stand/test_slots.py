"""What the store says of slots, on a real one."""

import redis.asyncio

from chaos.stand.slots import EPOCH, Slots
from ktms.adapters.redis import keys
from ktms.domain.ids import NodeName


async def test_leases_that_live_are_counted(valkey_url: str) -> None:
    client = redis.asyncio.Redis.from_url(valkey_url)
    seconds, _ = await client.time()
    leases = keys.leases_of(NodeName("node-0"))
    await client.zadd(leases, {"alive": (seconds + 60) * 1000, "over": (seconds - 60) * 1000})
    slots = Slots(valkey_url, ("node-0", "node-1"))
    assert await slots.in_use() == {"node-0": 1, "node-1": 0}
    await slots.close()
    await client.aclose()


async def test_a_store_is_made_old_and_empty_of_what_is_ours_alone(valkey_url: str) -> None:
    client = redis.asyncio.Redis.from_url(valkey_url)
    await client.set(keys.leases_of(NodeName("node-0")), "x")
    await client.set("somebody", "else")
    slots = Slots(valkey_url, ())
    await slots.make_old()
    assert sorted(await client.keys()) == sorted([EPOCH.encode(), b"somebody"])
    assert keys.EPOCH == EPOCH
    await slots.close()
    await client.aclose()


async def test_a_store_that_does_not_answer_says_nothing() -> None:
    slots = Slots("redis://127.0.0.1:1", ("node-0",))
    assert await slots.in_use() == {}
    assert await slots.held() is None
    await slots.close()


async def test_leases_that_live_are_named(valkey_url: str) -> None:
    client = redis.asyncio.Redis.from_url(valkey_url)
    seconds, _ = await client.time()
    for node, leases in {"node-0": {"a": 60, "over": -60}, "node-1": {"b": 60}}.items():
        ends = {name: (seconds + left_s) * 1000 for name, left_s in leases.items()}
        await client.zadd(keys.leases_of(NodeName(node)), ends)
    slots = Slots(valkey_url, ("node-0", "node-1"))
    assert await slots.held() == frozenset({"a", "b"})
    await slots.close()
    await client.aclose()
