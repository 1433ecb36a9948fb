"""N04: a look that hangs ends by its own timer, has exactly one successor, and holds up nobody else."""

from ktms.adapters.memory.upstream import NOBODY, Silence
from ktms.domain.capacity.node_health import (
    FAILURES_MAX,
    MISSES_MAX,
)
from ktms.domain.capacity.seat import Health
from ktms.engine.look import TOKEN_S
from ktms.engine.probe import PROBE_EVERY_S
from tests.engine.machines import ONE, TWO, machine, machines
from tests.engine.rig import refusal, whole
from tests.engine.virtual_loop import after
from tests.engine.watch import NODES, watch_of


async def test_n04_a_token_that_hangs_ends_by_its_own_timer_and_has_one_successor() -> None:
    watch = await watch_of("mac-1", "mac-2", "mac-3", catalogue=machines(machine("mac-1", slots=4), *NODES[1:3]))
    watch.rig.says("mac-1", (Silence(),), whole("H"))
    watch.ail(count=FAILURES_MAX)
    async with watch.rig.at_work():
        await after(TOKEN_S - 1)
        assert watch.tokens == ["mac-1"], "and none beside it, although three slots are free"
        assert watch.rig.fleet_store.busy(ONE) == 1
        await after(PROBE_EVERY_S + 2)
        assert watch.tokens == ["mac-1"] * 2
        assert watch.health() is Health.HEALTHY


async def test_n04_a_token_that_hangs_holds_up_no_look_at_others() -> None:
    watch = await watch_of("mac-1", "mac-2", "mac-3")
    watch.rig.says("mac-1", (Silence(),))
    watch.rig.shows("mac-2", NOBODY)
    watch.rig.says("mac-2", NOBODY)
    watch.ail(count=FAILURES_MAX)
    async with watch.rig.at_work():
        await after(MISSES_MAX * PROBE_EVERY_S + 1)
        assert watch.health(TWO) is Health.DOWN


async def test_tokens_that_do_not_come_are_asked_for_less_and_less_often() -> None:
    watch = await watch_of()
    watch.rig.says("mac-1", refusal(500))
    watch.ail(count=FAILURES_MAX)
    async with watch.rig.at_work():
        await after(600)
    assert 8 <= len(watch.tokens) <= 15
