"""Outcomes as tests need them."""

from dataclasses import replace

from sim.edit import NO_EDIT
from sim.outcome import Outcome

SOUND = Outcome(
    scenario="explore-ports",
    seed=7,
    edit=NO_EDIT,
    hash="0123456789abcdef",
    violations=(),
    broken="",
    simulated_s=400.0,
    wall_s=0.5,
    calls=12,
    counts={"timer": 90, "reply": 10},
    marks=("call.retried",),
    active=("FV1",),
    seen=("FV1",),
)


def failed(seed: int, *violations: str, timers: int = 90) -> Outcome:
    return replace(SOUND, seed=seed, violations=violations, counts={"timer": timers})


def broke(seed: int, why: str) -> Outcome:
    return replace(SOUND, seed=seed, broken=why)
