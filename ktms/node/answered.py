"""What follows from the gateway's answer to an announcement: when the next one is made, and what is told.

Pure: a table of statuses. Not here: the exchange (`announcer.py`).
"""

from dataclasses import dataclass

from ktms.domain.announcement import ANNOUNCE_EVERY_S

BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 16.0)
"""After failures in a row; then `ANNOUNCE_EVERY_S`, which the gateway expects anyway."""

REFUSED_EVERY_S = 60.0
"""A key that is refused may be put right by an operator; asking more often helps nobody."""

RETRY_AFTER_MAX_S = 300.0
"""Whatever a gateway asks for: a node that is not heard for longer is a node that is lost."""

EVERY_MIN_S = 5.0
"""A gateway that wants to hear us more often would be asking for its own rate limit."""


@dataclass(frozen=True, slots=True)
class Next:
    """When to announce again, in seconds; `waits_for_news` False: not sooner, whatever happens here.

    `superseded`: a later agent has this node's name, so this one has to end. `problem`: one line for the log and
    the doctor; None: all is well.
    """

    in_s: float
    problem: str | None = None
    superseded: bool = False
    waits_for_news: bool = True


def after_answer(status: int, message: str, retry_after_s: float | None, every_s: float | None) -> Next:
    """Decide by status; `message` is the gateway's own, in one line, `every_s` what it wishes."""
    if status == 200:
        return Next(min(max(every_s or ANNOUNCE_EVERY_S, EVERY_MIN_S), RETRY_AFTER_MAX_S))
    if status == 409:
        return Next(0.0, message, superseded=True)
    if status == 401:
        return Next(
            REFUSED_EVERY_S, "the gateway refuses the node key: it is wrong or revoked", waits_for_news=False
        )
    if status in {429, 503}:
        wait_s = min(retry_after_s or ANNOUNCE_EVERY_S, RETRY_AFTER_MAX_S)
        return Next(wait_s, message, waits_for_news=False)
    if status == 404:
        return Next(REFUSED_EVERY_S, "nothing takes announcements there: is this the gateway's URL?")
    return Next(ANNOUNCE_EVERY_S, message or f"the gateway answers {status}")


def after_failure(why: str, failures: int, spread: float) -> Next:
    """Decide after a failure of the way: so many in a row; `spread`, 0 to 1, keeps a fleet from coming at once."""
    step_s = BACKOFF_S[failures - 1] if failures <= len(BACKOFF_S) else float(ANNOUNCE_EVERY_S)
    return Next(step_s * (0.75 + 0.5 * spread), f"the gateway is not reached: {why}", waits_for_news=False)
