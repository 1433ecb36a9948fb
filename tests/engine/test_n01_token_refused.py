"""N01 with a refused token: a node that answers 401 is alive, fails fast, and must not attract calls."""

from dataclasses import replace

import pytest

from ktms.domain.access.secret import Secret
from ktms.domain.capacity.node_health import FAILURES_MAX, TOKEN_PROBE_EVERY_S, Evidence
from ktms.domain.capacity.seat import Health
from ktms.domain.catalogue import PolicySpec
from ktms.domain.errors import ErrorCode
from ktms.engine.call import Whole
from ktms.engine.probe import PROBE_EVERY_S
from tests.engine.ends import cause, health, story
from tests.engine.fleet_yard import PAIR, Yard
from tests.engine.machines import ONE, TWO, desk_of, machine, machines
from tests.engine.rig import Rig, refusal, replica_of, whole
from tests.engine.virtual_loop import after

TOLD = "node_token_refused"


async def rig_of_pair(status: int = 401, **members: object) -> Rig:
    rig = await replica_of(machines(machine("mac-1"), machine("mac-2"), **members))  # type: ignore[arg-type]  # members of a catalogue
    rig.says("mac-1", refusal(status))
    rig.says("mac-2", whole())
    return rig


def told(rig: Rig) -> list[tuple[str, dict[str, object]]]:
    return [(event.level, dict(event.facts)) for event in rig.telemetry.events if event.name == TOLD]


@pytest.mark.parametrize("status", [401, 403])
async def test_one_call_finds_it_out_and_the_others_go_elsewhere(status: int) -> None:
    rig = await rig_of_pair(status)
    for _ in range(10):
        assert isinstance(await rig.handle(rig.call("homely")), Whole)
    assert rig.dialled == ["mac-1", *["mac-2"] * 10]
    assert (health(rig), health(rig, TWO)) == (Health.BARRED, Health.HEALTHY)


async def test_a_call_that_meets_it_goes_on_to_the_next_node() -> None:
    rig = await rig_of_pair()
    assert story(await rig.handle(rig.call("homely"))) == "local/mac-1:401, local/mac-2:ok"


async def test_with_one_attempt_only_the_call_that_finds_it_out_fails() -> None:
    rig = await rig_of_pair(policy=PolicySpec(attempts_max=1))
    ends = [await rig.handle(rig.call("homely")) for _ in range(10)]
    assert cause(ends[0]).code == ErrorCode.UPSTREAM_AUTH_ERROR
    assert all(isinstance(end, Whole) for end in ends[1:])


async def test_the_log_says_it_once_and_not_for_each_call() -> None:
    rig = await replica_of(machines(machine("mac-1")))
    rig.says("mac-1", refusal(401))
    for _ in range(5):
        assert cause(await rig.handle(rig.call("homely"))).code == ErrorCode.UPSTREAM_AUTH_ERROR
    assert rig.dialled == ["mac-1"] * 5, "where nobody else is left it is asked"
    assert told(rig) == [("error", {"node": "mac-1"})]


async def test_a_token_heals_it_and_the_next_refusal_is_told_anew() -> None:
    rig = await rig_of_pair()
    await rig.handle(rig.call("homely"))
    rig.says("mac-1", whole("H"))
    async with rig.at_work():
        await after(TOKEN_PROBE_EVERY_S + PROBE_EVERY_S + 1)
    assert health(rig) is Health.HEALTHY
    rig.says("mac-1", refusal(401))
    for _ in range(4):
        await rig.handle(rig.call("homely"))
    assert len(told(rig)) == 2


async def test_a_look_that_is_refused_says_why_a_node_that_was_down_does_not_come_back() -> None:
    rig = await rig_of_pair()
    for _ in range(FAILURES_MAX):
        rig.machines.fleet.note(ONE, Evidence.CUT)
    assert health(rig) is Health.DOWN
    async with rig.at_work():
        await after(4 * TOKEN_PROBE_EVERY_S)
    assert health(rig) is Health.BARRED
    assert len(told(rig)) == 1


async def test_what_a_barred_node_has_free_is_no_room() -> None:
    rig = await rig_of_pair()
    await rig.handle(rig.call("homely"))
    assert desk_of(rig.machines.fleet).status(rig.clock.monotonic()).slots == 1


def test_with_another_token_it_is_asked_at_once() -> None:
    yard = Yard()
    refused = yard.fleet.health(ONE)
    first, second = PAIR.nodes
    yard.fleet.note(ONE, Evidence.TOKEN_REFUSED)
    assert not refused.wants_token(yard.clock.monotonic())
    yard.follow(replace(PAIR, nodes=(replace(first, token=Secret("another-token")), second)), 2)
    assert yard.fleet.health(ONE) is refused
    assert refused.wants_token(yard.clock.monotonic())
    assert yard.health() is Health.BARRED, "the token itself has to show that it is good"
