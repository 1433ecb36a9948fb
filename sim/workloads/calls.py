"""Calls drawn at random: when, by which key, of what kind, and in which manner the answer is taken.

Each call has a stream of its own, so one that is left out changes none of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sim.draft import CallDraft, Manner
from sim.seed import Chance, Seed

MANNERS = tuple(manner for manner in Manner if manner is not Manner.RETURNS)
"""Those that mean something where nothing is limited."""

PLACEMENTS = ("nodes_first", "nodes_only", "cloud_first", "cloud_only")


@dataclass(frozen=True, slots=True)
class Mix:
    """How calls are drawn; shares of all calls.

    `manners` may be any; a world that draws only some of them is deeper in those (swarm testing).
    """

    calls: int
    runs_s: float
    gateways: int = 1
    keys: Sequence[str] = ("app",)
    strangers: float = 0.02
    streamed: float = 0.7
    usage_asked: float = 0.3
    other_routes: float = 0.1
    placed: float = 0.2
    mannered: float = 0.3
    manners: Sequence[Manner] = MANNERS
    tokens_max: int = 40


def draw_calls(seed: Seed, mix: Mix) -> tuple[CallDraft, ...]:
    """Draw the calls of a world, in the order of their times."""
    arrivals = seed.chance("arrivals")
    at = [arrivals.uniform(0, mix.runs_s) for _ in range(mix.calls)]
    return tuple(_call(seed.chance(number), when, mix) for number, when in enumerate(sorted(at)))


def _call(chance: Chance, at_s: float, mix: Mix) -> CallDraft:
    call = CallDraft(
        at_s=round(at_s, 6),
        key="stranger" if chance.happens(mix.strangers) else chance.pick(mix.keys),
        gateway=chance.between(0, mix.gateways - 1),
        streamed=chance.happens(mix.streamed),
        usage_asked=chance.happens(mix.usage_asked),
        tokens=chance.between(1, mix.tokens_max),
        placement=chance.pick(PLACEMENTS) if chance.happens(mix.placed) else None,
        route=chance.pick(("completions", "embeddings")) if chance.happens(mix.other_routes) else "chat",
    )
    if not (mix.manners and chance.happens(mix.mannered)):
        return call
    manner = chance.pick(mix.manners)
    return replace(call, manner=manner, after=_after(chance, manner, mix.tokens_max))


def _after(chance: Chance, manner: Manner, tokens_max: int) -> float:
    match manner:
        case Manner.LEAVES_BEFORE:
            return round(chance.uniform(0, 1.5), 6)
        case Manner.LEAVES_MIDWAY | Manner.VANISHES | Manner.STALLS:
            return chance.between(1, tokens_max)
        case Manner.SLOW:
            return round(chance.uniform(0.01, 1.0), 6)
        case Manner.RETRIES | Manner.RETURNS:
            return chance.between(1, 3)
        case Manner.READS:
            return 0
