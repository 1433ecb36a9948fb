"""How a node does, from evidence: a table of states, and nothing else moves them.

Rules: passive evidence first, since every real token is a heartbeat; one failure makes a node suspect, three in a
row take it down, even if their answers had begun; three missed looks do so only while nothing of ours runs there;
only a generated token brings it back, for a list of models proves nothing about generation (N13). A 4xx and a
model that is loading are no failures, but where it is our token that is refused the node is barred: it would fail
every call, and fast. Slots are never touched here (N05). Not here: who gathers the evidence
(engine), what a suspect node is still asked for (`selection.py`).
"""

from collections.abc import Sequence
from enum import Enum

from ktms.domain.capacity.seat import Health


class Evidence(Enum):
    """What was seen of a node."""

    TOKEN = "an answer, or a look, that was generated to its end"
    HEARTBEAT = "the first token of an answer that goes on"
    ANSWERED = "a complete answer that is no token: alive, a 4xx too"
    TOKEN_REFUSED = "a 401 or 403: alive, and of no use to us"
    CONNECT_FAILED = "no connection"
    SERVER_ERROR = "a 5xx, or an answer of another model"
    FIRST_TOKEN_TIMEOUT = "no token in time"
    CUT = "an answer that broke off, or something that is none"
    LOADING = "it says that it loads its weights"
    PROBE_ANSWERED = "a free look that was answered"
    PROBE_MISSED = "a free look that was not"


FAILURES_MAX = 3
"""Failures in a row that take a node down."""

MISSES_MAX = 3
"""Free looks missed in a row that take an idle node down; a busy single-threaded engine misses a few (N15)."""

TOKEN_PROBE_EVERY_S = 5.0
"""How soon after a failure, or after a token that did not come, one is asked for."""

TOKEN_PROBE_MAX_S = 60.0
"""The pause doubles up to this: a machine that was switched off is not asked each few seconds for days."""

_FAILURES = frozenset({Evidence.CONNECT_FAILED, Evidence.SERVER_ERROR, Evidence.FIRST_TOKEN_TIMEOUT, Evidence.CUT})

_NO_NEWS = frozenset({Evidence.ANSWERED, Evidence.PROBE_ANSWERED})


class NodeHealth:
    """The health of one node. `since`: when it last changed, by the caller's clock; `loading`: it says so."""

    __slots__ = ("_failures", "_misses", "_pause_s", "_token_due_at", "health", "loading", "since")

    def __init__(self) -> None:
        self.health = Health.HEALTHY
        self.loading = False
        self.since = 0.0
        self._failures = 0
        self._misses = 0
        self._pause_s = TOKEN_PROBE_EVERY_S
        self._token_due_at = 0.0

    def note(self, evidence: Evidence, now: float, *, streams: int = 0) -> None:
        """Take one piece of evidence; `streams` are calls under way there, a proof of life by themselves."""
        if evidence is Evidence.TOKEN:
            self._failures = 0
            self._heal(now)
        elif evidence is Evidence.HEARTBEAT:
            self._heal(now)  # failures are kept: an engine that dies in each answer is no sound one
        elif evidence is Evidence.LOADING:
            self.loading = True
            self._misses = 0
        elif evidence in _NO_NEWS:
            self._misses = 0
        elif evidence is Evidence.TOKEN_REFUSED:
            self._misses = 0
            self._turn(Health.BARRED, now)
        elif evidence in _FAILURES:
            self._fail(now)
        else:
            assert evidence is Evidence.PROBE_MISSED, evidence
            self._miss(now, streams)

    def wants_token(self, now: float) -> bool:
        """Whether a token should be asked for, if the node is idle: nothing else can bring it back."""
        return self.health is not Health.HEALTHY and now >= self._token_due_at

    def token_asked(self, now: float) -> None:
        """Note that a token was asked for: the next one is due after a pause that grows."""
        self._token_due_at = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, TOKEN_PROBE_MAX_S)

    def came_back(self, now: float) -> None:
        """Note that the node has announced itself anew: whether it can generate is to be seen at once."""
        self._token_due_at = now
        self._pause_s = TOKEN_PROBE_EVERY_S

    def _heal(self, now: float) -> None:
        self.loading = False
        self._misses = 0
        self._pause_s = TOKEN_PROBE_EVERY_S
        self._turn(Health.HEALTHY, now)

    def _fail(self, now: float) -> None:
        self._failures += 1
        if self._failures >= FAILURES_MAX:
            self._turn(Health.DOWN, now)
        elif self.health is Health.HEALTHY:
            self._turn(Health.SUSPECT, now)

    def _miss(self, now: float, streams: int) -> None:
        if streams:
            self._misses = 0
            return
        self._misses += 1
        if self._misses >= MISSES_MAX:
            self._turn(Health.DOWN, now)

    def _turn(self, health: Health, now: float) -> None:
        if health is not self.health:
            self.health, self.since = health, now
            self._token_due_at = now if health is Health.DOWN else now + TOKEN_PROBE_EVERY_S


FLEET_WITHOUT_MAJORITY_MAX = 2
"""Of two machines one is half: nobody is left to vouch for the looks."""


def believed(before: Sequence[Health], after: Sequence[Health]) -> bool:
    """Whether one round of looks is to be believed: not when it turns more than half of those that were up bad.

    Our own network fails more often than all machines together. A fleet of one or two has no majority that could
    vouch for the looks: those are believed.
    """
    assert len(before) == len(after), "one health per node, before and after"
    up = [now for then, now in zip(before, after, strict=True) if then is not Health.DOWN]
    turned = sum(now is Health.DOWN for now in up)
    return len(up) <= FLEET_WITHOUT_MAJORITY_MAX or turned * 2 <= len(up)
