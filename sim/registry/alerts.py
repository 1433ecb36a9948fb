"""The alerts that we ship: each over metrics that exist, each with the page that says what to do.

Expressions are PromQL. What is counted appears with its first event, which `increase` does not see: where one
event is worth a call the expression also asks whether the counter is new. Thresholds are for a small fleet; who
runs a large one raises them. Not here: how they are written to a file (`alert_rules.py`).
"""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Who is told, and when."""

    CRITICAL = "critical"  # a person, now
    WARNING = "warning"  # a person, today
    INFO = "info"  # whoever looks at the board


@dataclass(frozen=True, slots=True)
class Alert:
    """One rule. `page` is the id whose page of the runbook is linked; `for_s` is how long it must hold."""

    name: str
    page: str
    severity: Severity
    for_s: int
    expr: str
    summary: str


def _new_or_grows(counter: str, span: str) -> str:
    return f"increase({counter}[{span}]) > 0 or ({counter} > 0 unless {counter} offset {span})"


_FAILED = (
    "5..|refused|tls|closed|connect_timeout|first_token_timeout|idle_timeout|total_timeout|malformed|too_large"
)
"""Results of attempts that are the target's own failure."""

_REDIS = (
    Alert(
        "KtmsRedisAway",
        "FR5",
        Severity.CRITICAL,
        60,
        'ktms_dependency_up{dependency="redis"} == 0',
        "Redis does not answer {{ $labels.instance }}: nodes are passed over, limits are not applied",
    ),
    Alert(
        "KtmsRedisErrors",
        "FR8",
        Severity.WARNING,
        300,
        'sum by (instance, kind) (rate(ktms_dependency_errors_total{dependency="redis"}[5m])) > 0',
        "Redis fails {{ $labels.instance }} now and then: {{ $labels.kind }}",
    ),
    Alert(
        "KtmsLimitsUncounted",
        "FR1",
        Severity.WARNING,
        60,
        'sum by (instance, dependency) (rate(ktms_dependency_errors_total{operation="reserve"}[5m])) > 0',
        "What keys use is not counted: {{ $labels.dependency }} does not tell",
    ),
)

_POSTGRES = (
    Alert(
        "KtmsPostgresAway",
        "FP1",
        Severity.CRITICAL,
        30,
        'ktms_dependency_up{dependency="postgres"} == 0',
        "Postgres does not answer {{ $labels.instance }}: only keys seen lately work, and not for long",
    ),
    Alert(
        "KtmsKeysUnverified",
        "FP2",
        Severity.WARNING,
        120,
        'sum by (instance, kind) (rate(ktms_dependency_errors_total{operation="find_keys"}[5m])) > 0',
        "Keys cannot be looked up at {{ $labels.instance }}: {{ $labels.kind }}",
    ),
    Alert(
        "KtmsSnapshotOld",
        "FP4",
        Severity.WARNING,
        60,
        "ktms_snapshot_age_seconds > 60",
        "{{ $labels.instance }} has had no news of its configuration for {{ $value | humanizeDuration }}",
    ),
    Alert(
        "KtmsSnapshotsDiffer",
        "FP4",
        Severity.WARNING,
        120,
        "max by (job) (ktms_snapshot_version) != min by (job) (ktms_snapshot_version)",
        "Replicas serve different configurations",
    ),
    Alert(
        "KtmsIdempotencyUnavailable",
        "FP5",
        Severity.WARNING,
        60,
        'sum by (instance) (rate(ktms_dependency_errors_total{operation="begin_call"}[5m])) > 0',
        "Calls with an Idempotency-Key are refused at {{ $labels.instance }}",
    ),
    Alert(
        "KtmsSnapshotNotSaved",
        "FP9",
        Severity.WARNING,
        60,
        "time() - ktms_snapshot_saved_timestamp_seconds > 120",
        "{{ $labels.instance }} could not start while Postgres is away: its file is old",
    ),
)

_LEDGER = (
    Alert(
        "KtmsLedgerAway",
        "FL1",
        Severity.WARNING,
        120,
        'ktms_dependency_up{dependency="ledger"} == 0',
        "The ledger does not take the usage events of {{ $labels.instance }}",
    ),
    Alert(
        "KtmsUsageWaits",
        "FL1",
        Severity.CRITICAL,
        60,
        "ktms_usage_events_waiting > 5000",
        "{{ $value }} usage events wait at {{ $labels.instance }}; without KTMS_SPOOL_DIR 10,000 is the end",
    ),
    Alert(
        "KtmsUsageDropped",
        "FL2",
        Severity.CRITICAL,
        0,
        _new_or_grows("ktms_usage_events_dropped_total", "15m"),
        "{{ $labels.instance }} has lost usage events for good",
    ),
)

_TARGETS = (
    Alert(
        "KtmsVendorFails",
        "FV1",
        Severity.WARNING,
        300,
        f'sum by (vendor) (rate(ktms_attempts_total{{result=~"{_FAILED}"}}[5m])) '
        "/ sum by (vendor) (rate(ktms_attempts_total[5m])) > 0.5",
        "More than half of the attempts at {{ $labels.vendor }} fail",
    ),
    Alert(
        "KtmsCredentialRefused",
        "FV1",
        Severity.CRITICAL,
        0,
        _new_or_grows('ktms_attempts_total{result=~"401|403"}', "10m"),
        "{{ $labels.vendor }} refuses our credential",
    ),
    Alert(
        "KtmsStreamsBreak",
        "FV3",
        Severity.WARNING,
        300,
        'sum by (vendor) (rate(ktms_attempts_total{result=~"closed|idle_timeout"}[10m])) '
        "/ sum by (vendor) (rate(ktms_attempts_total[10m])) > 0.05",
        "One in twenty answers of {{ $labels.vendor }} breaks or falls silent",
    ),
    Alert(
        "KtmsBreakerOpen",
        "FV5",
        Severity.WARNING,
        120,
        "ktms_breaker_state > 0",
        "{{ $labels.vendor }} has failed five times in a row, and its trials do too",
    ),
    Alert(
        "KtmsVendorLimits",
        "FV7",
        Severity.INFO,
        900,
        'sum by (vendor) (rate(ktms_attempts_total{result="429"}[5m])) > 0',
        "{{ $labels.vendor }} has limited us for a quarter of an hour",
    ),
    Alert(
        "KtmsNodeDown",
        "FN1",
        Severity.WARNING,
        120,
        "max by (node) (ktms_node_health) >= 2",
        "The node {{ $labels.node }} is down, or refuses our token (3)",
    ),
    Alert(
        "KtmsNodeFullUncounted",
        "FN2",
        Severity.WARNING,
        900,
        'sum by (node) (rate(ktms_node_attempts_total{result="busy"}[10m])) > 0',
        "The node {{ $labels.node }} is full though slots look free: somebody else uses it, or it has fewer",
    ),
    Alert(
        "KtmsQueueStands",
        "FN2",
        Severity.WARNING,
        60,
        "min by (model) (min_over_time(ktms_queue_waiting[10m])) > 0",
        "Calls for {{ $labels.model }} have waited for slots without a break for ten minutes",
    ),
    Alert(
        "KtmsModelsReload",
        "FN4",
        Severity.INFO,
        900,
        'sum by (node) (rate(ktms_node_attempts_total{result="loading"}[10m])) > 0',
        "The node {{ $labels.node }} loads models again and again",
    ),
    Alert(
        "KtmsNodeOtherModel",
        "FN5",
        Severity.WARNING,
        0,
        _new_or_grows('ktms_node_attempts_total{result="wrong_model"}', "10m"),
        "The node {{ $labels.node }} answers with another model than was asked for",
    ),
    Alert(
        "KtmsFleetDown",
        "FN7",
        Severity.CRITICAL,
        60,
        "min by (instance) (ktms_node_health) >= 1",
        "{{ $labels.instance }} knows no sound node",
    ),
)

_GATEWAY = (
    Alert(
        "KtmsGone",
        "FG3",
        Severity.CRITICAL,
        60,
        "absent(ktms_build_info)",
        "No replica is scraped any more",
    ),
    Alert(
        "KtmsRestarts",
        "FG3",
        Severity.WARNING,
        0,
        "changes(process_start_time_seconds[15m]) > 2 and on (instance) ktms_build_info",
        "{{ $labels.instance }} has started anew again and again",
    ),
    Alert(
        "KtmsMistake",
        "FG3",
        Severity.WARNING,
        0,
        _new_or_grows("ktms_loops_failed_total", "10m"),
        "A work of {{ $labels.instance }} failed and was begun again: report internal_error of its log",
    ),
    Alert(
        "KtmsReleasesMixed",
        "FG4",
        Severity.INFO,
        3600,
        "count(count by (version) (ktms_build_info)) > 1",
        "An upgrade has not ended for an hour",
    ),
    Alert(
        "KtmsCallsFail",
        "FG6",
        Severity.CRITICAL,
        300,
        'sum(rate(ktms_requests_total{status=~"5.."}[5m])) / sum(rate(ktms_requests_total[5m])) > 0.05',
        "One in twenty calls fails",
    ),
    Alert(
        "KtmsOverloaded",
        "FG6",
        Severity.CRITICAL,
        60,
        "sum by (instance, reason) (rate(ktms_calls_shed_total[5m])) > 0",
        "{{ $labels.instance }} refuses calls: {{ $labels.reason }}",
    ),
    Alert(
        "KtmsLoopBlocked",
        "FG7",
        Severity.WARNING,
        300,
        "rate(ktms_loop_blocked_total[5m]) > 0.1 or ktms_loop_lag_seconds > 0.4",
        "The event loop of {{ $labels.instance }} stands still again and again",
    ),
    Alert(
        "KtmsOpenFiles",
        "FG8",
        Severity.WARNING,
        60,
        "process_open_fds / process_max_fds > 0.8 and on (instance) ktms_build_info",
        "{{ $labels.instance }} has most of its files open",
    ),
)

ALERTS: dict[str, tuple[Alert, ...]] = {
    "redis": _REDIS,
    "postgres": _POSTGRES,
    "ledger": _LEDGER,
    "targets": _TARGETS,
    "gateway": _GATEWAY,
}
"""By the group of the failure matrix."""
