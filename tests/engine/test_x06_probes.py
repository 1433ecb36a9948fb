"""X06: looks are free or cost our own machines one token; they cost no vendor anything and no user an error.

What a machine is that loads its model: `test_node_walk_cold.py`, and N17.
"""

import json

import pytest

from ktms.adapters.memory.upstream import Head, Script
from ktms.domain.capacity.node_health import Evidence
from ktms.domain.capacity.seat import Health
from ktms.engine.call import Whole
from ktms.engine.probe import PROBE_EVERY_S
from ktms.ports.telemetry import Gauge
from ktms.ports.upstream import UpstreamRequest
from tests.engine.ends import health, story
from tests.engine.machines import ONE, machine, machines, seat_of
from tests.engine.rig import JSON, NODE_MODEL, Rig, listing, refusal, replica_of, whole
from tests.engine.virtual_loop import after

LOADING: Script = (
    Head(503, JSON),
    json.dumps({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}).encode(),
)


def is_token_look(request: UpstreamRequest) -> bool:
    return request.prologue.method == "POST" and json.loads(request.body).get("max_tokens") == 1


def thinking() -> Script:
    """One token of a model that thinks before it speaks: there is no text yet."""
    message = {"role": "assistant", "content": None, "reasoning_content": "Hm"}
    choice = {"index": 0, "message": message, "finish_reason": "length"}
    usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
    told = {"object": "chat.completion", "model": NODE_MODEL, "choices": [choice], "usage": usage}
    return (Head(200, JSON), json.dumps(told).encode())


@pytest.fixture
async def rig() -> Rig:
    return await replica_of(machines(machine("mac-1")))


async def test_a_vendor_is_never_looked_at(rig: Rig) -> None:
    async with rig.at_work():
        await after(60 * PROBE_EVERY_S)
    hosts = {one.request.origin.host for one in rig.upstream.exchanges}
    assert len(hosts) == 1, "that of the machine"


async def test_a_sound_machine_is_asked_for_lists_alone(rig: Rig) -> None:
    async with rig.at_work():
        await after(60 * PROBE_EVERY_S)
    methods = {one.request.prologue.method for one in rig.upstream.exchanges}
    paths = {one.request.prologue.path for one in rig.upstream.exchanges}
    assert methods == {"GET"}
    assert paths <= {"/v1/models", "/metrics"}


async def test_a_machine_that_loads_is_neither_ill_nor_counted_as_a_failure(rig: Rig) -> None:
    rig.says("mac-1", LOADING, LOADING, whole())
    async with rig.at_work():
        assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:loading, alpha:ok"
        assert seat_of(rig.machines.fleet, "mac-1").cold
        assert health(rig) is Health.HEALTHY
        assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:cold, alpha:ok"


async def test_a_machine_comes_back_by_a_token_that_is_a_thought(rig: Rig) -> None:
    rig.machines.fleet.note(ONE, Evidence.CUT)
    rig.says("mac-1", thinking())
    async with rig.at_work():
        await after(3 * PROBE_EVERY_S)
        assert health(rig) is Health.HEALTHY


@pytest.mark.parametrize("status", [400, 500, 503])
async def test_looks_that_fail_are_nobodys_error(rig: Rig, status: int) -> None:
    rig.upstream._script_for = lambda request: (
        refusal(status, "max_tokens is too small")
        if is_token_look(request)
        else listing(NODE_MODEL)
        if request.prologue.method == "GET"
        else whole()
    )
    rig.machines.fleet.note(ONE, Evidence.CUT)
    async with rig.at_work():
        await after(20 * PROBE_EVERY_S)
        told = rig.telemetry
        assert told.calls == []
        assert not [key for key in told.gauges if key[0] is Gauge.BREAKER_STATE and told.gauges[key]]
        assert isinstance(await rig.handle(rig.call("homely")), Whole)
        assert health(rig) is Health.HEALTHY, "a user's token brings it back"
    assert len(rig.ledger.events) == 1, "that of the call"
