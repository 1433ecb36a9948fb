"""What is counted: the table of our metrics, and how one record of a call goes into it.

Names begin with `ktms_`, durations are seconds, a missing vendor or model is an empty label. Labels are names from
the catalogue, statuses and short words of ours; never text of a client. Not here: when records are settled
(gateway_telemetry.py).
"""

from ktms.adapters.telemetry.series import Counters, Gauges, Histograms
from ktms.ports.telemetry import CallRecord, Count, Dependency, Gauge

CALL_BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 45, 90, 180, 360, 660)
"""From a refused call to the deadline of a whole request (routing: 660 s)."""

OVERHEAD_BOUNDS_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1)
"""Our own share of a call: the bars are 0.3 to 3 ms."""

_GAUGES = {
    Gauge.DEPENDENCY_UP: ("ktms_dependency_up", "1 while the dependency answers, else 0", "dependency"),
    Gauge.BREAKER_STATE: ("ktms_breaker_state", "0 closed, 1 half open, 2 open", "vendor"),
    Gauge.SNAPSHOT_VERSION: ("ktms_snapshot_version", "Version of the configuration in force", None),
    Gauge.SNAPSHOT_AGE_S: ("ktms_snapshot_age_seconds", "Time since the snapshot was last confirmed", None),
    Gauge.SNAPSHOT_SAVED_AT: (
        "ktms_snapshot_saved_timestamp_seconds",
        "When the snapshot was last saved to its file, in Unix time",
        None,
    ),
    Gauge.NODE_SLOTS_BUSY: ("ktms_node_slots_busy", "Slots of the node in use, as last seen", "node"),
    Gauge.NODE_ENGINE_CALLS: (
        "ktms_node_engine_calls",
        "Calls running and waiting in the engine, as its own metrics say; NaN: not known any more",
        "node",
    ),
    Gauge.NODE_KV_USED: (
        "ktms_node_kv_used_ratio",
        "Share of the engine's KV cache in use, as its own metrics say; NaN: not known any more",
        "node",
    ),
    Gauge.NODE_HEALTH: ("ktms_node_health", "0 healthy, 1 suspect, 2 down, 3 refuses our token", "node"),
    Gauge.QUEUE_WAITING: ("ktms_queue_waiting", "Calls waiting for a slot, on all replicas", "model"),
    Gauge.QUEUE_FORECAST_ERROR: (
        "ktms_queue_forecast_error_ratio",
        "Mean of |forecast - actual| / actual over recent waits",
        "model",
    ),
    Gauge.BATCH_LINES_WAITING: ("ktms_batch_lines_waiting", "Lines of all batches that wait to be run", None),
    Gauge.USAGE_WAITING: ("ktms_usage_events_waiting", "Usage events that the ledger does not have yet", None),
    Gauge.LOOP_LAG_S: ("ktms_loop_lag_seconds", "How late the event loop runs its timers", None),
}
assert set(_GAUGES) == set(Gauge), "every gauge has a name"


_COUNTS: dict[Count, tuple[str, str, tuple[str, ...]]] = {
    Count.BATCH_LINES: ("ktms_batch_lines_total", "Runs of batch lines by what they came to", ("result",)),
    Count.SNAPSHOT_SAVES: ("ktms_snapshot_saves_total", "Savings of the snapshot to its file", ("result",)),
    Count.USAGE_DROPPED: ("ktms_usage_events_dropped_total", "Usage events that no ledger will ever have", ()),
    Count.LOOP_BLOCKED: ("ktms_loop_blocked_total", "Stalls of the event loop of 100 ms and more", ()),
    Count.LOOPS_FAILED: (
        "ktms_loops_failed_total",
        "Works beside the calls begun again after a failure",
        ("loop",),
    ),
    Count.CALLS_SHED: ("ktms_calls_shed_total", "Calls refused because there is too much to do", ("reason",)),
}
assert set(_COUNTS) == set(Count), "every count has a name"


class Tally:
    """All numbers of one worker process."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.requests = Counters("ktms_requests_total", "Calls by what served them", ("model", "vendor", "status"))
        self.cancelled = Counters("ktms_requests_cancelled_total", "Calls whose client left", ())
        self.attempts = Counters("ktms_attempts_total", "Attempts by how they ended", ("vendor", "result"))
        self.node_attempts = Counters("ktms_node_attempts_total", "Attempts on nodes", ("node", "result"))
        self.tokens = Counters("ktms_tokens_total", "Tokens of settled calls", ("kind",))
        self.cost_micros = Counters(
            "ktms_cost_micros_total", "Cost of settled calls in micro-dollars", ("vendor", "model")
        )
        self.dependency_errors = Counters(
            "ktms_dependency_errors_total", "Errors of dependencies", ("dependency", "operation", "kind")
        )
        self.request_s = _histogram("request_duration", "Whole calls", ("model",))
        self.upstream_s = _histogram("upstream_duration", "The upstream's share of calls", ("vendor",))
        self.first_token_s = _histogram(
            "time_to_first_token", "Until the first visible token", ("model", "vendor")
        )
        self.queue_s = _histogram("queue_duration", "Waiting for a slot", ("model",))
        self.forecast_s = _histogram("queue_forecast", "What waits for a slot were expected to take", ("model",))
        self.overhead_s = Histograms(
            "ktms_overhead_seconds", "Calls less their queue and upstream", (), OVERHEAD_BOUNDS_S
        )
        self.cache = Counters("ktms_cache_requests_total", "Calls for models whose answers are kept", ("result",))
        self._counts = {count: Counters(*facts) for count, facts in _COUNTS.items()}
        self._gauges = {gauge: Gauges(*facts) for gauge, facts in _GAUGES.items()}

    @property
    def counters(self) -> tuple[Counters, ...]:
        """All counters, in the order shown."""
        return (
            self.requests,
            self.cancelled,
            self.attempts,
            self.node_attempts,
            self.tokens,
            self.cost_micros,
            self.dependency_errors,
            self.cache,
            *self._counts.values(),
        )

    @property
    def histograms(self) -> tuple[Histograms, ...]:
        """All histograms, in the order shown."""
        waits = (self.queue_s, self.forecast_s)
        return (self.request_s, self.upstream_s, self.first_token_s, *waits, self.overhead_s)

    @property
    def gauges(self) -> tuple[Gauges, ...]:
        """All values of the moment, in the order shown."""
        return tuple(self._gauges.values())

    @property
    def folded_total(self) -> int:
        """How many additions met a full family."""
        families: tuple[Counters | Histograms | Gauges, ...] = (*self.counters, *self.histograms, *self.gauges)
        return sum(family.folded_total for family in families)

    def set_gauge(self, gauge: Gauge, value: float, label: str) -> None:
        """Set a value of the moment."""
        self._gauges[gauge].set(label, value)

    def add_count(self, count: Count, amount: int, label: str) -> None:
        """Count something that stands in a table of its own."""
        counters = self._counts[count]
        counters.add((label,) if counters.label_names else (), amount)

    def add_failure(self, dependency: Dependency, operation: str, kind: str) -> None:
        """Count one error of a dependency."""
        self.dependency_errors.add((dependency.value, operation, kind))

    def add_call(self, record: CallRecord) -> None:
        """Count one ended call."""
        model, vendor = record.model or "", record.vendor or ""
        self.requests.add((model, vendor, str(record.status)))
        self.request_s.observe((model,), record.total_s)
        self.overhead_s.observe((), max(0.0, record.total_s - record.upstream_s - record.queue_s))
        if record.upstream_s > 0:
            self.upstream_s.observe((vendor,), record.upstream_s)
        if record.first_token_s is not None:
            self.first_token_s.observe((model, vendor), record.first_token_s)
        if record.queue_s > 0:
            self.queue_s.observe((model,), record.queue_s)
        if record.forecast_s is not None:
            self.forecast_s.observe((model,), record.forecast_s)
        if record.prompt_tokens or record.completion_tokens:
            self.tokens.add(("prompt",), record.prompt_tokens)
            self.tokens.add(("completion",), record.completion_tokens)
        if record.cost_micros:
            self.cost_micros.add((vendor, model), record.cost_micros)
        if record.cache is not None:
            self.cache.add((record.cache,))
        if record.cancelled:
            self.cancelled.add(())
        self._add_attempts(record)

    def _add_attempts(self, record: CallRecord) -> None:
        for attempt in record.attempts:
            self.attempts.add((attempt.vendor, attempt.result))
            if attempt.node is not None:
                self.node_attempts.add((attempt.node, attempt.result))


def _histogram(what: str, about: str, label_names: tuple[str, ...]) -> Histograms:
    return Histograms(f"ktms_{what}_seconds", about, label_names, CALL_BOUNDS_S)
