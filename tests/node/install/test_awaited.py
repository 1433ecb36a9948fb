"""Waiting for the gateway's word, as the agent hands it on."""

import json
from pathlib import Path

import pytest

from ktms.node.install.awaited import LOOK_EVERY_S, await_announced
from ktms.node.install.refused import Refused
from tests.node.recordings import RecordedMachine

STATUS = Path("/home/anna/.ktms/status.json")


def wait(*said: dict[str, object] | None, ended: bool = False, own_at: int = 0) -> tuple[tuple[str, ...], int]:
    """Have the agent say these, one at each look; gives the models and the number of pauses."""
    machine = RecordedMachine("linux")
    rest = list(said)
    pauses: list[float] = []

    def pause(seconds: float = 0.0) -> None:
        pauses.append(seconds)
        one = rest.pop(0) if rest else None
        if one is not None:
            machine.files[STATUS] = json.dumps(one)

    pause()
    models = await_announced(
        machine,
        STATUS,
        10 * LOOK_EVERY_S,
        pause,
        ended=lambda: ended,
        is_its_own=lambda: len(pauses) > own_at,
    )
    return models, len(pauses) - 1


def test_the_models_that_are_served_are_given() -> None:
    assert wait({"announced": True, "accepted": ["a", "b"]}) == (("a", "b"), 0)


def test_a_problem_that_passes_is_waited_out() -> None:
    away = {"announced": False, "problem": "the gateway is not reached: nobody answers"}
    assert wait(None, away, away, {"announced": True, "accepted": []}) == ((), 3)


def test_the_last_word_of_an_agent_before_is_not_taken_for_that_of_this_one() -> None:
    before, now = {"announced": True, "accepted": ["old"]}, {"announced": True, "accepted": ["new"]}
    assert wait(before, before, now, own_at=2) == (("new",), 2)


def test_a_key_that_is_refused_is_not_waited_for() -> None:
    with pytest.raises(Refused, match="refuses the node key"):
        wait({"announced": False, "problem": "the gateway refuses the node key: it is wrong or revoked"})


def test_a_problem_that_stays_is_said() -> None:
    with pytest.raises(Refused, match="nobody answers; look why"):
        wait({"announced": False, "problem": "the gateway is not reached: nobody answers"})


def test_an_agent_that_has_ended_is_not_waited_for() -> None:
    with pytest.raises(Refused, match="the agent has ended"):
        wait(None, ended=True)


def test_half_a_file_is_looked_at_again() -> None:
    machine = RecordedMachine("linux", files={STATUS: '{"announced": tr'})

    def pause(_: float) -> None:
        machine.files[STATUS] = '{"announced": true, "accepted": ["a"]}'

    assert await_announced(machine, STATUS, 1.0, pause, ended=lambda: False, is_its_own=lambda: True) == ("a",)
