"""What must become of a call that comes with a key, judged from the questions that the key store was asked.

The prose (FP1 to FP3, FP11): a good key that was verified within 300 s works whatever the database does; another
one is 503 while it does not answer, never 401; a revoked key is refused within 10 s where the database answers,
within 300 s always, and once refused for good; an unknown one never passes; a verdict is as old as its question;
all is over within 3 s.
"""

from dataclasses import dataclass, field
from enum import Enum

from ktms.domain.ids import KeyId
from tests.sim.machines.key_store import FaultyKeys, Question

WINDOW_S = 300.0
FRESH_S = 10.0
REFUSED_S = 2.0
BOUND_S = 3.0
ROUND = "reverify"

GRAIN_S = 1e-6
"""Sums of floats may be off by so much."""


class Verdict(Enum):
    PASSED = "passed"
    INVALID = "401"
    AWAY = "503"


@dataclass(slots=True)
class Token:
    """What a client may come with, and what is true of it.

    `id` is that of the stored key it belongs or pretends to; at some notices no question about it was under way.
    """

    name: str
    text: str
    id: KeyId
    well_formed: bool = True
    genuine: bool = True
    expires_at: float | None = None
    made_at: float | None = 0.0
    revoked_at: float | None = None
    noticed_at: list[float] = field(default_factory=list)
    noticed_alone_at: list[float] = field(default_factory=list)
    refused_at: float | None = None

    def good(self, at: float, wall: float) -> bool:
        made = self.genuine and self.made_at is not None and self.made_at <= at
        return made and (self.revoked_at is None or at < self.revoked_at) and not self.expired(wall)

    def expired(self, wall: float) -> bool:
        return self.expires_at is not None and wall >= self.expires_at


@dataclass(frozen=True, slots=True)
class Visit:
    """One call and how it ended; times are monotonic but for `wall`."""

    token: Token
    began_at: float
    ended_at: float
    wall: float
    verdict: Verdict
    retry_after_s: float | None = None


class Judge:
    """Says what is wrong with a visit, or None."""

    def __init__(self, store: FaultyKeys) -> None:
        self._store = store

    def complaint(self, visit: Visit) -> str | None:
        if visit.ended_at - visit.began_at > BOUND_S + GRAIN_S:
            return "longer than a verification may take (FP3)"
        if not visit.token.well_formed:
            right = visit.verdict is Verdict.INVALID and visit.ended_at == visit.began_at
            return None if right else "no key, and not refused at once"
        match visit.verdict:
            case Verdict.PASSED:
                return self._wrongly_passed(visit)
            case Verdict.INVALID:
                return self._wrongly_refused(visit)
            case Verdict.AWAY:
                return self._wrongly_away(visit)

    def _wrongly_passed(self, visit: Visit) -> str | None:
        token, at = visit.token, visit.ended_at
        if not token.genuine or token.made_at is None or token.expired(visit.wall):
            return "no key of ours passed, or an expired one"
        verified_at = self._verified_at(token, at)
        if verified_at is None or at - verified_at >= WINDOW_S:
            return "passed without an answer of the last 300 s (FP1, FP2)"
        if at - verified_at >= FRESH_S and not self._failed(visit) and self._store.answers:
            return "passed on an old answer while the database answered (FP11)"
        if token.revoked_at is not None and at - token.revoked_at >= WINDOW_S:
            return "passed 300 s after it was revoked (FP11)"
        if token.refused_at is not None and visit.began_at > token.refused_at:
            return "passed though it was found revoked before"
        if any(self._must_have_asked(token, notice) for notice in token.noticed_alone_at):
            return "passed on what was known before a notice"
        return None

    def _wrongly_refused(self, visit: Visit) -> str | None:
        token = visit.token
        if token.good(visit.ended_at, visit.wall) and token.good(visit.began_at, visit.wall):
            seen = self._own(visit, REFUSED_S)
            return None if any(token.id not in asked.read for asked in seen) else "401 for a good key (FP2)"
        lasting = token.genuine and token.made_at is not None
        known = self._verified_at(token, visit.ended_at, good=False) if lasting else None
        if (known is None or visit.ended_at - known >= WINDOW_S) and not self._own(visit, REFUSED_S):
            return "401 that no answer supports: nobody could know (FP2)"
        return None

    def _wrongly_away(self, visit: Visit) -> str | None:
        token, at = visit.token, visit.ended_at
        if not visit.retry_after_s:
            return "503 without Retry-After (FP2)"
        if not self._failed(visit):
            return "503 though the database answered (FP8)"
        verified_at = self._verified_at(token, at, kept=True)
        if token.good(at, visit.wall) and verified_at is not None and at - verified_at < WINDOW_S:
            return f"503 for a good key that was verified {at - verified_at} s ago (FP1)"
        return None

    def _own(self, visit: Visit, within_s: float) -> list[Question]:
        """The answers to look-ups of this very token that a call may rely on."""
        return [
            asked
            for asked in self._store.about(visit.token.id, (visit.token.name,))
            if asked.answered and asked.ended_at is not None
            if visit.began_at - asked.asked_at < within_s or asked.ended_at >= visit.began_at
        ]

    def _failed(self, visit: Visit) -> bool:
        """Whether a look-up that the call may have waited for had no answer."""
        return any(
            not asked.answered and asked.ended_at is not None and asked.ended_at >= visit.began_at
            for asked in self._store.about(visit.token.id, (visit.token.name,))
        )

    def _verified_at(self, token: Token, at: float, *, good: bool = True, kept: bool = False) -> float | None:
        """When the newest question was asked whose answer knew the key; `kept`: and no notice has voided it."""
        for asked in self._store.about(token.id, (token.name, ROUND)):
            if not asked.answered or asked.ended_at is None or asked.ended_at > at:
                continue
            found = asked.read.get(token.id)
            if found is None or (good and found.revoked):
                continue
            if kept and any(_voids(notice, asked) for notice in token.noticed_at):
                continue
            return asked.asked_at
        return None

    def _must_have_asked(self, token: Token, notice: float) -> bool:
        """Whether nothing was asked since a notice at which nothing was under way."""
        return not any(
            asked.answered and asked.asked_at >= notice
            for asked in self._store.about(token.id, (token.name, ROUND))
        )


def _voids(notice: float, asked: Question) -> bool:
    """A look-up's answer after the notice is kept; a round's is not, since the key had left it."""
    assert asked.ended_at is not None
    return notice >= (asked.asked_at if asked.who == ROUND else asked.ended_at)
