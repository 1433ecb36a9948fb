"""Whether a balancer should send calls here, and why not; facts in, verdict out (FP6, FP7, FP9, FR14, FG1)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Readiness:
    """`status` is ok, degraded, draining or unready; `reasons` name what is missing, one word each."""

    status: str
    reasons: tuple[str, ...]
    version: int

    @property
    def ready(self) -> bool:
        """A degraded replica still answers."""
        return self.status in ("ok", "degraded")


def judge(
    *,
    draining: bool,
    version: int,
    postgres_answers: bool,
    key_window_open: bool,
    nodes_known: bool,
    saved: bool = False,
) -> Readiness:
    """Judge from what the replica knows of itself; `version` 0 means that it has no snapshot.

    `saved`: it has that from disk, and the database has not confirmed it yet (FP9). `nodes_known` is False while
    Redis does not tell how busy the nodes are: the cloud still answers (FR14).
    """
    if draining:
        return Readiness("draining", ("shutting_down",), version)
    reasons = []
    if version == 0:
        reasons.append("no_snapshot")
    if saved:
        reasons.append("saved_snapshot")
    if not postgres_answers:
        reasons.append("postgres_away")
    if not nodes_known:
        reasons.append("redis_away")
    if not postgres_answers and not key_window_open:
        reasons.append("key_window_closed")
    if version == 0 or not (postgres_answers or key_window_open):
        return Readiness("unready", tuple(reasons), version)
    return Readiness("degraded" if reasons else "ok", tuple(reasons), version)
