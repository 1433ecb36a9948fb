"""How busy an engine is, read from the metrics that it writes about itself (Prometheus text).

Rules: nothing raises for what an engine sent; what is absent, no number, negative or beyond a sane range is not
known, never zero (N12); the series of one name are those of several engines behind one address and are summed,
their use of the KV cache is averaged (N09); a series that is written twice counts once, as written last. Names of
a metric before and after it was renamed are both read. Not here: who asks for the text, and what follows from it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

METRICS_MAX_BYTES = 1024 * 1024
"""An engine with all its histograms, a hundred times over."""

LINES_MAX = 20_000
"""Lines read; an ordinary engine writes some hundreds."""

LINE_MAX_BYTES = 4096
"""A series with a dozen labels has a few hundred; longer lines are none of those looked for."""

CALLS_MAX = 1_000_000
"""More calls in one series are a mistake, and would be somebody's load."""

_RUNNING = (b"vllm:num_requests_running", b"llamacpp:requests_processing", b"tgi_batch_current_size")
_WAITING = (b"vllm:num_requests_waiting", b"llamacpp:requests_deferred", b"tgi_queue_size")
_KV_USED = (b"vllm:kv_cache_usage_perc", b"vllm:gpu_cache_usage_perc")
"""The newer name first: a release that writes both means the same by them."""

_NAMES = (*_RUNNING, *_WAITING, *_KV_USED)

_SERIES = re.compile(
    rb"""([A-Za-z_:][A-Za-z0-9_:]*+)
    (?:[ \t]*+\{((?:[^"{}\\]|"(?:[^"\\]|\\.)*+")*+)\})?
    [ \t]*+(?<=[ \t}])([+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]{1,3})?)
    (?:[ \t]++-?[0-9]++)?[ \t\r]*+""",
    re.VERBOSE,
)
"""Name, labels, value; a time stamp may follow. NaN and Inf do not match. Nothing in it is matched twice, so a
hostile line costs no more than its length."""


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """What an engine does now. `kv_used`: share of its KV cache, 0 to 1. None: not known."""

    running: int | None = None
    waiting: int | None = None
    kv_used: float | None = None

    @property
    def calls(self) -> int | None:
        """Calls in the engine; of two counts of which one is not known, the other is still the least there is."""
        if self.running is None and self.waiting is None:
            return None
        return (self.running or 0) + (self.waiting or 0)


UNKNOWN_LOAD = EngineLoad()


def read_engine_metrics(text: bytes) -> EngineLoad:
    """Read an engine's metrics, whatever engine it is."""
    if len(text) > METRICS_MAX_BYTES:
        text = text[:METRICS_MAX_BYTES].rpartition(b"\n")[0]  # half a line would be another number
    series: dict[bytes, dict[bytes, float]] = {name: {} for name in _NAMES}
    for line in text.split(b"\n", LINES_MAX)[:LINES_MAX]:
        if line.startswith(_NAMES) and len(line) <= LINE_MAX_BYTES:
            found = _SERIES.fullmatch(line)
            if found is not None and found[1] in series:
                series[found[1]][found[2] or b""] = float(found[3])
    shares = (_mean(series[name].values()) for name in _KV_USED)
    return EngineLoad(
        running=_sum(value for name in _RUNNING for value in series[name].values()),
        waiting=_sum(value for name in _WAITING for value in series[name].values()),
        kv_used=next((share for share in shares if share is not None), None),
    )


def _sum(values: Iterable[float]) -> int | None:
    counts = [int(value) for value in values if 0 <= value <= CALLS_MAX and value.is_integer()]
    return sum(counts) if counts else None


def _mean(values: Iterable[float]) -> float | None:
    shares = [value for value in values if 0 <= value <= 1]
    return fmean(shares) if shares else None
