"""N19: an engine that queues without limit gets one call at a time: leases are the only limit there is."""

from ktms.adapters.memory.upstream import Pause
from tests.engine.ends import story
from tests.engine.rig import whole
from tests.engine.virtual_loop import after
from tests.engine.waits import LONE, rig_with


async def test_n19_one_slot_is_one_call_at_a_time_however_much_the_engine_takes() -> None:
    rig = await rig_with(LONE)
    rig.says("mac-1", (Pause(0.8), *whole()))
    asked_at_once: list[int] = []
    async with rig.at_work() as group:
        calls = [group.create_task(rig.handle(rig.call("mixed"))) for _ in range(6)]
        for _ in range(50):
            await after(0.1)
            asked_at_once.append(sum(exchange.state.name == "OPEN" for exchange in rig.upstream.exchanges))
    assert max(asked_at_once) == 1
    stories = sorted(story(call.result()) for call in calls)
    assert stories.count("local/mac-1:ok") == 3, "one at once, two who waited; the rest would have waited too long"
    assert stories.count("local/mac-1:busy, alpha:ok") == 3
