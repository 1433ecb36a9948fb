"""Fault plans drawn at random. Each world draws from a subset of the kinds: some are met often (swarm testing).

Not here: the plans that scenarios write by hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sim.faults.plan import KINDS, Fault, On, Plan
from sim.seed import Chance, Seed


@dataclass(frozen=True, slots=True)
class Aims:
    """What there is to break: names of targets (`nodes` are some of them) and of gateways."""

    targets: Sequence[str]
    gateways: Sequence[str]
    nodes: Sequence[str] = ()
    redis: bool = True


def draw_plan(seed: Seed, aims: Aims, *, count: int, runs_s: float, kinds: Sequence[str]) -> Plan:
    """Draw so many faults of these kinds, in the order of their times."""
    usable = [kind for kind in kinds if _names(kind, aims)]
    if not usable:
        return ()
    faults = [_fault(seed.chance(number), usable, aims, runs_s) for number in range(count)]
    return tuple(sorted(faults, key=lambda fault: fault.at_s))


def draw_kinds(chance: Chance) -> list[str]:
    """Draw the subset of kinds that a world may meet."""
    return chance.some(sorted(name for name, kind in KINDS.items() if kind.drawn), chance.between(3, 12))


def _names(kind: str, aims: Aims) -> Sequence[str]:
    match KINDS[kind].on:
        case On.TARGET:
            return aims.targets
        case On.NODE:
            return aims.nodes
        case On.GATEWAY:
            return aims.gateways
        case On.PAIR:
            return [f"{gateway}>{target}" for gateway in aims.gateways for target in aims.targets]
        case On.REDIS:
            return ("",) if aims.redis else ()
        case On.POSTGRES | On.OPERATOR | On.LEDGER:
            return ("",)


def _fault(chance: Chance, kinds: Sequence[str], aims: Aims, runs_s: float) -> Fault:
    kind = chance.pick(kinds)
    at_s = round(chance.uniform(0, runs_s * 0.8), 3)
    lasts_s = round(min(chance.around(6.0, 1.0), runs_s - at_s), 3)
    low, high = AMOUNTS.get(kind, (0.0, 0.0))
    amount = chance.uniform(low, high)
    return Fault(kind, chance.pick(_names(kind, aims)), at_s, lasts_s, round(amount, 0 if kind in WHOLE else 3))


AMOUNTS = {
    "slow_link": (0.05, 3.0),
    "thin_link": (200.0, 20_000.0),
    "sliced": (1.0, 40.0),
    "status": (500.0, 599.0),
    "rate_limited": (-3.0, 20.0),
    "overloaded": (1.0, 20.0),
    "cut": (0.0, 10.0),
    "stall": (0.0, 10.0),
    "error_in_200": (0.0, 5.0),
    "meaning_in_200": (400.0, 599.0),
    "malformed": (0.0, 5.0),
    "slow_drip": (0.2, 30.0),
    "evicted": (1.0, 40.0),
    "fewer_slots": (1.0, 2.0),
    "smaller_window": (500.0, 4000.0),
    "postgres_slow": (0.05, 4.0),
    "ledger_slow": (0.1, 8.0),
    "redis_slow": (0.005, 2.0),
    "redis_unfit": (1.0, 2.0),
    "sigterm_twice": (0.1, 8.0),
    "wall_jump": (-7200.0, 7200.0),
    "lag": (0.2, 6.0),
}
"""Bounds of the amount of each kind that has one."""

WHOLE = frozenset(
    {"sliced", "thin_link", "status", "rate_limited", "overloaded", "fewer_slots", "smaller_window"}
    | {"redis_unfit", "cut", "stall", "error_in_200", "meaning_in_200", "malformed"}
)
