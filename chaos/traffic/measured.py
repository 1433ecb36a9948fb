"""What a run was like for its clients, read from its journal: how many failed and when, what was added to answers.

Added is what a call took beyond what its targets took for it. Who left by itself, who was over a limit and who
showed no key of ours did not fail. Not here: whether anything was wrong (`sim.checkers`).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from chaos.stand.client_keys import STRANGER
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

GOOD = frozenset({"done", "whole"})

LIMITED = 429
"""Who is over a limit is served as it was promised."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Calls that were sent in one span of a run; times are seconds, sorted ones ascending.

    `endings` counts outcomes with status and code, such as `done 200` or `error 503 no_node_available`.
    `failed_by_second` counts by the second of the run in which a failed call was sent.
    """

    calls: int
    good: int
    failed: int
    endings: dict[str, int]
    added_s: tuple[float, ...]
    first_s: tuple[float, ...]
    failed_by_second: dict[int, int]
    last_failed_at: float | None

    @property
    def worst_added_s(self) -> float:
        """The most that was added to a good answer; 0 where there was none."""
        return self.added_s[-1] if self.added_s else 0.0

    def added_share_s(self, share: float) -> float:
        """Give what was added to this share of the good answers at most."""
        return _at_share(self.added_s, share)

    def first_share_s(self, share: float) -> float:
        """Give when this share of the good answers had shown their first text at the latest."""
        return _at_share(self.first_s, share)


def measured(journal: Journal, since: float = -math.inf, until: float = math.inf) -> Measured:
    """Measure the calls that were sent in this span."""
    watch = watch_of(journal)
    calls = [call for call in watch.calls.values() if since <= call.sent_at <= until and _counts(call)]
    good = [call for call in calls if call.outcome in GOOD]
    failed = [call for call in calls if call.outcome not in GOOD and call.left is None and call.status != LIMITED]
    visible = {fact.text("call"): fact.at for fact in journal.of("call_visible")}
    by_second = Counter(int(call.sent_at) for call in failed)
    return Measured(
        calls=len(calls),
        good=len(good),
        failed=len(failed),
        endings=dict(Counter(map(_ending, calls)).most_common()),
        added_s=tuple(sorted(_added_s(watch, call) for call in good)),
        first_s=tuple(sorted(visible[call.name] - call.sent_at for call in good if call.name in visible)),
        failed_by_second=dict(sorted(by_second.items())),
        last_failed_at=max((call.over_at for call in failed), default=None),
    )


def _counts(call: Call) -> bool:
    """Whether it says something about the service: a stale connection was asked again, a stranger is refused."""
    return call.code != "stale" and call.sents[0].members["key"] != STRANGER


def _ending(call: Call) -> str:
    return " ".join(word for word in (call.outcome or "under way", str(call.status or ""), call.code) if word)


def _added_s(watch: Watch, call: Call) -> float:
    """Give how much longer it took than its targets: their spans may touch, not overlap."""
    theirs_s = sum(one.told_at - one.asked.at for one in watch.asked(call) if one.told is not None)
    return max(0.0, call.over_at - call.sent_at - theirs_s)


def _at_share(ascending: Sequence[float], share: float) -> float:
    if not ascending:
        return 0.0
    return ascending[min(len(ascending) - 1, int(share * len(ascending)))]
