"""A vendor talks nonsense: garbage, without end, gigantic, compressed, byte by byte: FV9.

Each kind is told apart and bounded in time and in memory, and calls beside do not notice. Not here: garbage alone
(`targets.py`).
"""

import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from chaos.experiments.asked_of import ERROR_EVENT, added_share_s, struck, words_of
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure
from chaos.experiments.in_turn import Turn, of_turns
from chaos.experiments.memory import memory_grown_mb, note_memory
from chaos.experiments.reading import CLOUD, NODES, calls_of, ended, good, in_fault, placed, share
from chaos.experiments.vendors import FIRST, INTERRUPTED
from chaos.stand import modes
from chaos.stand.settings import StandSettings
from chaos.stand.stand import Stand
from chaos.traffic.load import Mix

STRANGE = StandSettings(first_token_timeout_s=3.0, idle_timeout_s=3.0, total_timeout_s=10.0)

BESIDE = Mix(rate_per_s=20.0, streamed=0.5, leavers=0.0, placements={CLOUD: 0.5, NODES: 0.5})

GIGANTIC_MIB = 256

DRIP_S = 0.05
"""Between bytes: the first event is not complete when its timer ends."""

UNAFFECTED_S = 0.5
"""What calls beside may take longer: the targets of this machine write a hundred megabytes meanwhile."""

BOUNDED_MB = 250.0
"""A body has 64 MiB at most, an event 16, and two or three are under way at once."""

STRANGE_WORDS = ("malformed", "too_large", "encoded", "first_token_timeout")


@asynccontextmanager
async def _strange(stand: Stand) -> AsyncIterator[None]:
    turns = of_turns(
        Turn(0.0, FIRST, modes.GARBAGE, 2.0, every=9),
        Turn(0.0, FIRST, modes.ENDLESS, every=16),
        Turn(0.0, FIRST, modes.GIGANTIC, GIGANTIC_MIB, every=6),
        Turn(0.0, FIRST, modes.COMPRESSED, every=8),
        Turn(0.0, FIRST, modes.DRIP, DRIP_S, every=9),
    )
    note_memory(stand)
    async with turns(stand):
        yield
    note_memory(stand)


def _is_bounded(broken: Broken) -> Iterator[Expected]:
    met = [call for call, _ in struck(broken, "FV9", FIRST)]
    ends = [call for call in met if call in good(met) or (call.outcome, call.code) == (ERROR_EVENT, INTERRUPTED)]
    words = f"{share(len(ends), len(met))} that met it are answered elsewhere or end in an error event"
    yield Expected("FV9", len(ends) == len(met) > 0, words)
    longest_s = max((call.over_at - call.sent_at for call in met), default=0.0)
    bound_s = STRANGE.total_timeout_s + STRANGE.first_token_timeout_s
    yield Expected("FV9", 0 < longest_s <= bound_s, f"the longest takes {longest_s:.1f} s")
    seen = {word for call in met for word in words_of(call).values()}
    missed = [word for word in STRANGE_WORDS if word not in seen]
    yield Expected("FV9", not missed, f"not told apart: {', '.join(missed) or 'nothing'}")
    yield from _others_do_well(broken)


def _others_do_well(broken: Broken) -> Iterator[Expected]:
    beside = placed(ended(in_fault(broken)), NODES)
    before = placed(ended(calls_of(broken, since_s=-math.inf, until_s=0.0)), NODES)
    extra_s = added_share_s(broken, good(beside), 0.9) - added_share_s(broken, good(before), 0.9)
    words = f"{share(len(good(beside)), len(beside))} beside are answered, p90 of what is added +{extra_s:.2f} s"
    yield Expected("FV9", len(good(beside)) == len(beside) > 0 and extra_s <= UNAFFECTED_S, words)
    grown_mb = memory_grown_mb(broken)
    yield Expected("FV9", 0 <= grown_mb <= BOUNDED_MB, f"memory grows by {grown_mb:.0f} MB at most")


NONSENSE_EXPERIMENTS = (
    Experiment(
        "vendor-strange",
        "a vendor's answers are garbage, endless, gigantic, compressed, or come byte by byte",
        ("FV9",),
        _strange,
        lambda broken: len(struck(broken, "FV9", FIRST)),
        _is_bounded,
        felt_min=10,
        settings=STRANGE,
        mix=BESIDE,
        figure=Figure("answer-bounded", "growth of a replica's memory (MB)", memory_grown_mb, 200.0),
    ),
)
