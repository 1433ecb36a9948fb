"""The Lua scripts on a real server and their twins here, given the same random calls, give the same answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ktms.adapters.redis.keys import EPOCH, FREED, duty_key, leases_of, report_of, waiters_of
from ktms.adapters.redis.line import Words
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.lua import Script, Scripts, read_scripts
from ktms.domain.ids import ModelName, NodeName
from sim.fakes.redis.server import SimRedis
from sim.seed import Chance, Seed

PATIENT_S = 5.0
TTL_MS = 600_000
"""Nothing ends by itself here: two servers would not see it at the same moment."""

NODES = [NodeName(f"node-{number}") for number in range(3)]
MODELS = [ModelName("small"), ModelName("large")]
LEASES = [f"lease-{number}" for number in range(8)]
CALLS = 400


def call(chance: Chance, scripts: Scripts) -> tuple[Script, Words]:
    nodes = chance.some(NODES, chance.between(1, 3))
    keys = [leases_of(node) for node in nodes]
    lease, model, owner = chance.pick(LEASES), chance.pick(MODELS), chance.pick(["gw1", "gw2"])
    slots = [chance.between(0, 3) for _ in nodes]
    renewed = [word for one in slots for word in (chance.pick(LEASES), one)]
    waiters = waiters_of(model)
    some: list[tuple[Script, Words]] = [
        (scripts.take, (1 + len(keys), EPOCH, *keys, lease, TTL_MS, chance.pick([0, TTL_MS]), *slots)),
        (scripts.renew, (1 + len(keys), EPOCH, *keys, TTL_MS, *renewed)),
        (scripts.release, (len(keys), *keys, lease, chance.pick([0, TTL_MS]), FREED, *nodes)),
        (scripts.drained, (len(keys), *keys, FREED, chance.pick([0, 4 * 10**12]), *nodes)),
        (scripts.wait, (2, waiters, waiters, TTL_MS, chance.pick(LEASES), chance.pick(LEASES))),
        (scripts.leave, (1, waiters, chance.pick(LEASES))),
        (scripts.claim, (1, duty_key("probe"), owner, TTL_MS)),
        (scripts.post, (1, report_of(nodes[0]), TTL_MS, f"report-{lease}")),
        (
            scripts.read,
            (2 + len(keys) + len(nodes), EPOCH, *keys, waiters, *map(report_of, nodes), len(keys) + 1),
        ),
    ]
    return chance.pick(some)


def without_stamps(answer: Any) -> Any:
    """Leave out the time of the server: that of a reading, and those of its reports."""
    match answer:
        case [int(), [*counts], [*reports]]:
            return counts, [report and report.partition(b" ")[2] for report in reports]
        case _:
            return answer


async def answers(url: str, seed: int) -> list[Any]:
    chance, scripts = Seed(seed).chance("calls"), read_scripts()
    async with RedisLink(url, timeout_s=PATIENT_S) as link:
        given = []
        for _ in range(CALLS):
            script, words = call(chance, scripts)
            given.append(without_stamps(await link.ask(words, script=script)))
        return given


@asynccontextmanager
async def simulated() -> AsyncIterator[str]:
    server = SimRedis()
    listening = await asyncio.get_running_loop().create_server(server.connection, "127.0.0.1", 0)
    async with listening:
        yield f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("seed", range(5))
async def test_a_script_and_its_twin_answer_alike(valkey_url: str, seed: int) -> None:
    async with simulated() as url:
        real, ours = await answers(valkey_url, seed), await answers(url, seed)
    assert ours == real
    assert [-1] in real
    assert any(isinstance(one, list) and one[0] > 0 for one in real if one)


async def test_a_script_that_changed_has_no_twin(valkey_url: str) -> None:
    server = SimRedis(now=lambda: 0.0)
    sources = [script.source for script in read_scripts().all()]
    assert all(isinstance(server.state.scripts.load(source.encode()), bytes) for source in sources)
    assert not isinstance(server.state.scripts.load((sources[0] + " ").encode()), bytes)
