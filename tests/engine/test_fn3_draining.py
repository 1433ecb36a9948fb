"""FN3: a machine that drains refuses what is new; that is no attempt, and no reason to take it for ill."""

from ktms.domain.capacity.seat import Health
from ktms.domain.catalogue import PolicySpec
from ktms.domain.errors import ErrorCode
from tests.engine.ends import cause, story
from tests.engine.machines import ONE, machine, machines
from tests.engine.rig import refusal, replica_of, whole

PAIR = (machine("mac-1"), machine("mac-2"))
DRAINING = {"x_ktms_node_state": "Draining"}


async def test_fn3_a_node_that_refuses_since_it_drains_is_passed_by_and_no_worse() -> None:
    rig = await replica_of(machines(*PAIR, policy=PolicySpec(attempts_max=1)))
    rig.says("mac-1", refusal(503, **DRAINING))
    rig.says("mac-2", whole())
    assert story(await rig.handle(rig.call("homely"))) == "local/mac-1:draining, local/mac-2:ok"
    assert rig.machines.fleet.health(ONE).health is Health.HEALTHY
    for _ in range(3):
        await rig.handle(rig.call("homely"))
    assert rig.dialled == ["mac-1", "mac-2", "mac-2", "mac-2", "mac-2"]
    await rig.prober.round()
    await rig.sweeper.look()
    rig.says("mac-1", whole())
    for _ in range(2):
        await rig.handle(rig.call("homely"))
    assert "mac-1" in rig.dialled[5:]


async def test_fn3_a_node_that_drains_for_the_last_one_is_told() -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", refusal(503, **DRAINING))
    end = cause(await rig.handle(rig.call("homely")))
    assert end.code == ErrorCode.NO_NODE_AVAILABLE
    assert story(await rig.handle(rig.call("homely"))) == "local/mac-1:draining"
