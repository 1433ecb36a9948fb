"""Running one world and judging it: the production of an `Outcome`.

Never raises for what happens in a world: a deadlock, a broken checker, an error that nobody handled are outcomes
of their own. Not here: many worlds (`swarm.py`), smaller ones (`shrink.py`).
"""

import hashlib
import time
from dataclasses import dataclass

from sim.checkers.judges import CheckerBroken, judge
from sim.checkers.marks import hit
from sim.draft import Draft, Level
from sim.draft_rules import complaints
from sim.edit import NO_EDIT, Edit
from sim.journal.journal import Journal
from sim.loop import Deadlock, Standstill
from sim.outcome import Outcome
from sim.scenarios.scenario import Scenario
from sim.seed import Seed
from sim.trace import Trace
from sim.world import World

HASH_CHARS = 16

ALIVE = ("bytes", "reply", "timer")
"""A world whose trace lacks one of these has run nothing; bytes may lack only where no target said a word."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run with all that was written down."""

    outcome: Outcome
    journal: Journal
    trace: Trace


def drawn(scenario: Scenario, seed: int) -> tuple[Seed, Draft]:
    """Give the place of a world in the tree of its seed, and its draft."""
    root = Seed(seed).child(scenario.id)
    return root, scenario.draft(root)


def _drafted(scenario: Scenario, seed: int) -> tuple[Seed, Draft, str]:
    """Draw a world; the third value says what is wrong with it, empty where nothing is."""
    try:
        root, draft = drawn(scenario, seed)
    except Exception as error:  # noqa: BLE001 - the boundary: a scenario's own mistake is an outcome too
        return Seed(seed), Draft(), f"the draft of scenario {scenario.id!r} threw {_told(error)}"
    wrong = "; ".join(complaints(draft))
    return root, draft, wrong and f"the draft of scenario {scenario.id!r} is wrong: {wrong}"


def run(scenario: Scenario, seed: int, edit: Edit = NO_EDIT, *, keep_trace: bool = False) -> Run:
    """Run one world in this process."""
    began_at = time.perf_counter()
    root, draft, wrong = _drafted(scenario, seed)
    world = World(root, scenario.id, draft, edit, keep_trace=keep_trace)
    broken = wrong or _ran(world)
    world.loop.close()
    simulated_s = world.loop.time() - world.started_at
    violations: tuple[str, ...] = ()
    if not broken:
        violations, broken = _judged(world, scenario)
    digest = hashlib.sha256(f"{world.trace.digest()} {world.journal.digest()}".encode()).hexdigest()
    active = {fact.text("id") for fact in world.journal.of("fault_active")}
    outcome = Outcome(
        scenario=scenario.id,
        seed=seed,
        edit=edit,
        hash=digest[:HASH_CHARS],
        violations=violations,
        broken=broken,
        simulated_s=simulated_s,
        wall_s=time.perf_counter() - began_at,
        calls=world.calls,
        counts=dict(world.trace.counts),
        marks=tuple(sorted(set(hit(world.journal)))),
        active=tuple(sorted(active)),
        seen=tuple(sorted({fact.text("id") for fact in world.journal.of("behaviour_seen")})),
    )
    return Run(outcome, world.journal, world.trace)


def _ran(world: World) -> str:
    """Let it run; the reason why it cannot be judged, empty where it can."""
    try:
        world.run()
    except (Deadlock, Standstill) as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - the boundary: a mistake of the simulator's own is an outcome too
        return f"the world broke: {_told(error)}"
    missing = [kind for kind in ALIVE if not world.trace.counts[kind] and (kind != "bytes" or _spoken(world))]
    if missing:
        return f"the trace has no {', '.join(missing)}: nothing was simulated"
    return "".join(
        f"nobody handled: {one.message} ({one.error!r}) on {one.host}; " for one in world.loop.unhandled
    )


def _spoken(world: World) -> bool:
    """Tell whether bytes must have moved: HTTP always moves some, ports alone only what a target said."""
    return world.level is Level.WIRE or any(told.members["visible"] for told in world.journal.of("told"))


def _judged(world: World, scenario: Scenario) -> tuple[tuple[str, ...], str]:
    try:
        for name in sorted(set(scenario.active(world.journal))):
            world.journal.note("fault_active", "judge", id=name, target="")
        for name in sorted(set(scenario.seen(world.journal))):
            world.journal.note("behaviour_seen", "judge", id=name)
        found = [str(one) for one in judge(world.journal)]
    except CheckerBroken as error:
        return (), str(error)
    except Exception as error:  # noqa: BLE001 - the boundary: a scenario's own mistake says nothing about the world
        return (), f"what scenario {scenario.id!r} reads threw {_told(error)}"
    shown = {fact.text("id") for fact in world.journal.of("behaviour_seen")}
    active = {fact.text("id") for fact in world.journal.of("fault_active")}
    for name in scenario.proves:
        if name not in active:
            found.append(f"{name} the fault was never active")
        elif name not in shown:
            found.append(f"{name} the behaviour was not seen")
    return tuple(found), ""


def _told(error: BaseException) -> str:
    where = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        where.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    inner = "; ".join(_told(one) for one in getattr(error, "exceptions", ()))
    return f"{error!r} at {' > '.join(where[-4:])}{' (' + inner + ')' if inner else ''}"
