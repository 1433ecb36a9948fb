"""A Redis that is not what it should be, in stories."""

from collections.abc import Callable

import pytest

from chaos.experiments.all_of_them import EXPERIMENTS
from tests.chaos.experiments.seen import failing
from tests.chaos.experiments.story import RunStory

Tell = Callable[[RunStory], object]


def readonly() -> RunStory:
    story = RunStory()
    story.call(12.0, by="cloud-a")
    story.call(12.0, "error", status=503, code="node_state_unknown", placement="nodes_only")
    story.call(24.0, by="node-0", placement="nodes_only")
    return story


def test_a_failover_that_passes_by_itself_holds() -> None:
    assert failing("redis-readonly", readonly().over()) == set()


@pytest.mark.parametrize(
    "tell",
    [
        lambda story: story.call(13.0, by="node-0"),
        lambda story: story.call(13.0, "error", status=502, placement="nodes_only"),
        lambda story: story.call(25.0, "error", status=503, placement="nodes_only"),
    ],
)
def test_each_broken_promise_of_a_failover_is_found(tell: Tell) -> None:
    story = readonly()
    tell(story)
    assert len(failing("redis-readonly", story.over())) == 1


def test_slots_that_are_held_by_nobody_are_counted() -> None:
    story = readonly()
    name = story.call(22.0, by="node-0", took_s=0.1)
    story.told(name, 23.0, "node-0")
    story.note(22.5, "slots_seen", node="node-0", busy=3)
    figure = EXPERIMENTS["redis-readonly"].figure
    assert figure is not None
    assert figure.of(story.over()) == 2.0


def unfit() -> RunStory:
    story = RunStory()
    for at, on in ((11.0, True), (14.0, False)):
        story.note(at, "fault", fault="redis_forgets_scripts", target="", on=on)
    story.call(12.0, by="node-0", placement="nodes_only")
    for host, word in (("gw2", "maxmemory-policy"), ("gw3", "Lua scripts")):
        story.note(16.0, "log", host, level="error", name="redis_unfit", text=f"reason=… {word} …")
    return story


def test_scripts_that_come_back_and_starts_that_say_so_hold() -> None:
    assert failing("redis-unfit", unfit().over()) == set()


def test_a_call_that_fails_without_scripts_is_found_and_counted() -> None:
    story = unfit()
    story.call(13.0, "error", status=503, code="node_state_unknown", placement="nodes_only")
    over, figure = story.over(), EXPERIMENTS["redis-unfit"].figure
    assert failing("redis-unfit", over) == {"nodes answer 1 of 2 without scripts"}
    assert figure is not None
    assert figure.of(over) == 1.0


def test_a_start_that_says_nothing_and_one_that_says_it_for_no_reason_are_found() -> None:
    silent, loud = RunStory(), unfit()
    silent.note(16.0, "log", "gw3", level="error", name="redis_unfit", text="reason=… Lua scripts …")
    loud.note(16.0, "log", "gw1", level="error", name="redis_unfit", text="reason=… Lua scripts …")
    assert "`maxmemory-policy` is said by nobody" in failing("redis-unfit", silent.over())
    assert failing("redis-unfit", loud.over()) == {"`Lua scripts` is said by gw1, gw3"}
