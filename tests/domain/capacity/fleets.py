"""Seats and selectors for tests of the choice among nodes."""

from collections import Counter
from math import inf

from ktms.domain.capacity.engine_metrics import EngineLoad
from ktms.domain.capacity.seat import Health, NodeState, Seat
from ktms.domain.capacity.selection import Ask, Choice, Selector
from ktms.domain.catalogue import EngineKind, Selection
from ktms.domain.ids import NodeName, Region, VendorModel
from ktms.domain.snapshot import Node, Origin, Reach

MODEL = VendorModel("qwen3:4b")

ASK = Ask(need_tokens=1000, uncached_tokens=500, output_tokens=250)
FR = frozenset({Region("fr")})


def seat(
    name: str,
    weight: int = 1,
    *,
    slots: int = 1_000_000,
    busy: int = 0,
    told: int = 0,
    window: int | None = None,
    region: str | None = None,
    health: Health = Health.HEALTHY,
    draining: bool = False,
    cold: bool = False,
    decode: float = 30.0,
) -> Seat:
    """One seat; with so many slots that its load does not count. `told`: calls in the engine, as that says."""
    node = Node(
        NodeName(name),
        Origin("http", "10.0.0.7", 8790, "", Reach.NODE),
        EngineKind.OLLAMA,
        None,
        None if region is None else Region(region),
        slots,
        weight,
        {MODEL: window},
        None,
    )
    state = NodeState(node, slots, busy, health, draining)
    state.hear(EngineLoad(running=told))
    return Seat(state, MODEL, window, cold, decode_tokens_per_s=decode)


def weighted(weights: str) -> list[Seat]:
    """Give seats a, b, c and so on of weights written as "5,1,1"."""
    return [seat(chr(ord("a") + place), int(weight)) for place, weight in enumerate(weights.split(","))]


def selector(*seats: Seat, band: float = inf, rule: Selection = Selection.WEIGHTED, spin: int = 0) -> Selector:
    made = Selector(band=band, rule=rule, spin=spin)
    made.rank(seats)
    return made


def names(choice: Choice) -> str:
    return "".join(one.state.node.name for one in choice.seats)


def chosen(made: Selector, ask: Ask = ASK, refused: str = "") -> str:
    return names(made.choose(ask, {NodeName(name) for name in refused}))


def picked(made: Selector, count: int, ask: Ask = ASK) -> str:
    found = ""
    for _ in range(count):
        choice = made.choose(ask, ())
        made.charge(choice, choice.seats[0].state.node.name)
        found += choice.seats[0].state.node.name
    return found


def fleet(count: int, *, busy: int = 0, window: int | None = None) -> list[Seat]:
    return [seat(f"n{place}", slots=4, busy=busy, window=window) for place in range(count)]


def used(made: Selector, count: int, ask: Ask = ASK) -> Counter[str]:
    """Choose, charge and take the slot, as the engine does."""
    found: Counter[str] = Counter()
    for _ in range(count):
        choice = made.choose(ask, ())
        if choice.seats:
            state = choice.seats[0].state
            made.charge(choice, state.node.name)
            state.busy += 1
            found[state.node.name] += 1
    return found
