"""Calls that come at a rate, whatever becomes of those before them: an open loop, as the world is one.

All that is drawn comes from a seed: the same seed asks the same questions at the same moments. Not here: one call
(`caller.py`), what was measured (`measured.py`).
"""

import asyncio
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random  # noqa: TID251  # seeded; the suite stands outside of the product's entropy port

from chaos.stand.client_keys import STRANGER
from chaos.traffic.caller import Caller
from chaos.traffic.question import Question

PLACEMENTS: Mapping[str | None, float] = {None: 0.5, "nodes_only": 0.15, "cloud_only": 0.2, "nodes_first": 0.15}
"""None: as the key and the policy say."""


@dataclass(frozen=True, slots=True)
class Mix:
    """How calls are drawn; shares of all calls. `keys` and `gateways` empty: all there are, in turn.

    `long` are streams of `long_tokens`. `balanced`: gateways are those that a balancer would choose from. `quiet`:
    from when to when nodes are left alone, in seconds from the first call: all ask for the cloud then. `again`:
    keys whose calls ask what was asked before, or one new question a second. `bounded`: with `max_tokens`.
    """

    rate_per_s: float = 50.0
    streamed: float = 0.7
    usage_asked: float = 0.3
    leavers: float = 0.04
    strangers: float = 0.02
    tokens_min: int = 3
    tokens_max: int = 16
    placements: Mapping[str | None, float] = field(default_factory=lambda: PLACEMENTS)
    keys: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()
    long: float = 0.0
    long_tokens: int = 0
    balanced: bool = False
    quiet: tuple[float, float] = (0.0, 0.0)
    again: frozenset[str] = frozenset()
    bounded: bool = False


@dataclass(frozen=True, slots=True)
class Due:
    """A call and when it is made, in seconds from the beginning."""

    at_s: float
    question: Question


class Load:
    """The traffic of a run; it may run several times, and names never come twice.

    `in_turn` gives the gateways to choose from whenever a call is drawn.
    """

    def __init__(
        self, caller: Caller, mix: Mix, seed: int, in_turn: Callable[[], tuple[str, ...]] | None = None
    ) -> None:
        self._caller = caller
        self._in_turn = in_turn or (lambda: mix.gateways or caller.gateways)
        self._mix = mix
        self._random = Random(seed)  # noqa: S311  # traffic, no secret
        self._numbers = itertools.count(1)

    def draw(self) -> Iterator[Due]:
        """Draw calls without end, in the order of their moments."""
        at_s = 0.0
        while True:
            at_s += self._random.expovariate(self._mix.rate_per_s)
            question = self._question()
            if question.key in self._mix.again:
                question = self._asked_before(question, at_s)
            since_s, until_s = self._mix.quiet
            if since_s <= at_s < until_s:
                question = replace(question, placement="cloud_only")
            yield Due(at_s, question)

    async def run_for(self, seconds: float) -> int:
        """Let calls come for so long, wait until the last one has ended, and give their number."""
        return await self._run(seconds, asyncio.Event())

    async def run_until(self, over: asyncio.Event, seconds_max: float) -> int:
        """Let calls come until told, at most for so long, wait until all have ended, and give their number."""
        return await self._run(seconds_max, over)

    async def _run(self, seconds: float, over: asyncio.Event) -> int:
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        count = 0
        async with asyncio.TaskGroup() as calls:
            for due in itertools.takewhile(lambda due: due.at_s < seconds, self.draw()):
                try:
                    async with asyncio.timeout_at(began_at + due.at_s):
                        await over.wait()
                        return count
                except TimeoutError:
                    count += 1
                    calls.create_task(self._caller.make(due.question))
        return count

    def _question(self) -> Question:
        mix, random, number = self._mix, self._random, next(self._numbers)
        gateways, keys = self._in_turn(), mix.keys or self._caller.keys
        long = mix.long > 0 and random.random() < mix.long
        streamed = long or random.random() < mix.streamed
        leaves = streamed and random.random() < mix.leavers
        tokens = mix.long_tokens if long else random.randint(mix.tokens_min, mix.tokens_max)
        return Question(
            name=str(number),
            gateway=gateways[number % len(gateways)],
            key=STRANGER if random.random() < mix.strangers else keys[number % len(keys)],
            streamed=streamed,
            tokens=tokens,
            placement=random.choices(list(mix.placements), list(mix.placements.values()))[0],
            leaves_after=random.randint(1, tokens) if leaves else None,
            usage_asked=random.random() < mix.usage_asked,
            bounded=mix.bounded,
        )

    def _asked_before(self, question: Question, at_s: float) -> Question:
        """Draw one of the questions that there are by now, and ask it under another name."""
        nth = self._random.randint(0, int(at_s))
        placements = list(self._mix.placements)
        first = Question(
            name=f"again-{nth}",
            gateway=question.gateway,
            key=question.key,
            streamed=nth % 2 == 0,
            tokens=self._mix.tokens_min + nth % (self._mix.tokens_max - self._mix.tokens_min + 1),
            placement=placements[nth % len(placements)],
            bounded=question.bounded,
        )
        said = replace(first, gateway=self._caller.gateways[0])
        return replace(first, name=question.name, repeats=said)
