"""N13: an engine that lists its models and hangs in each generation costs a few calls, not an hour of them."""

from ktms.adapters.memory.upstream import Silence
from ktms.domain.capacity.node_health import FAILURES_MAX
from ktms.domain.capacity.seat import Health
from ktms.engine.call import Whole
from ktms.engine.look import TOKEN_S
from tests.engine.ends import health
from tests.engine.machines import ONE, TWO, machine, machines
from tests.engine.rig import Rig, replica_of, whole
from tests.engine.virtual_loop import after

MINUTE_S = 60.0


def calls_to(rig: Rig, node: str) -> int:
    """Count the calls of clients among what a node was asked."""
    return sum(event.node == node for event in rig.ledger.events)


async def test_after_one_call_that_hung_others_go_to_the_sound_machine() -> None:
    rig = await replica_of(machines(machine("mac-1"), machine("mac-2")))
    rig.says("mac-1", (Silence(),))
    rig.says("mac-2", whole())
    async with rig.at_work():
        for _ in range(85):
            assert isinstance(await rig.handle(rig.call("homely")), Whole)
            await after(MINUTE_S)
        assert (health(rig, ONE), health(rig, TWO)) == (Health.SUSPECT, Health.HEALTHY)
    assert calls_to(rig, "mac-1") == 1


async def test_alone_it_is_down_after_three_calls_and_the_cloud_answers_at_once() -> None:
    rig = await replica_of(machines(machine("mac-1")))
    rig.says("mac-1", (Silence(),))
    rig.says("alpha", whole())
    async with rig.at_work():
        for _ in range(85):
            assert isinstance(await rig.handle(rig.call("mixed")), Whole)
            await after(MINUTE_S)
        assert health(rig) is Health.DOWN
    assert calls_to(rig, "mac-1") <= FAILURES_MAX


async def test_only_a_generated_token_brings_it_back() -> None:
    rig = await replica_of(machines(machine("mac-1")))
    rig.says("mac-1", (Silence(),))
    rig.says("alpha", whole())
    async with rig.at_work():
        for _ in range(FAILURES_MAX):
            await rig.handle(rig.call("mixed"))
            await after(1)
        await after(10 * MINUTE_S)
        assert health(rig) is Health.DOWN
        rig.says("mac-1", whole())
        await after(TOKEN_S + 2 * MINUTE_S)
        assert health(rig) is Health.HEALTHY
        before = calls_to(rig, "mac-1")
        await rig.handle(rig.call("mixed"))
    assert calls_to(rig, "mac-1") == before + 1
