from collections.abc import Callable
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from ktms.adapters.telemetry.exposition import CONTENT_TYPE
from ktms.ports.telemetry import CallRecord, Gauge


def test_the_text_parses_and_every_name_is_ours_or_the_process(
    bench: Any, make_record: Callable[..., CallRecord]
) -> None:
    bench.telemetry.call_ended(make_record())
    names = {family.name for family in text_string_to_metric_families(bench.telemetry.exposition().decode())}
    assert {name.split("_")[0] for name in names} == {"ktms", "process"}


def test_buckets_are_cumulative_and_end_with_the_count(bench: Any, make_record: Callable[..., CallRecord]) -> None:
    for total_s in (0.02, 0.3, 1000.0):
        bench.telemetry.call_ended(make_record(total_s=total_s))
    series = 'ktms_request_duration_seconds_bucket{le="%s",model="small"}'
    assert [bench.sample(series % bound) for bound in ("0.01", "0.025", "0.5", "660.0", "+Inf")] == [0, 1, 2, 2, 3]


def test_count_and_sum_of_a_histogram_are_exported(bench: Any, make_record: Callable[..., CallRecord]) -> None:
    for total_s in (0.25, 0.5):
        bench.telemetry.call_ended(make_record(total_s=total_s))
    assert bench.sample('ktms_request_duration_seconds_sum{model="small"}') == 0.75
    assert bench.sample('ktms_request_duration_seconds_count{model="small"}') == 2


def test_seconds_are_spelled_out_in_the_names_of_gauges(bench: Any) -> None:
    bench.telemetry.gauge(Gauge.SNAPSHOT_AGE_S, 4.5)
    assert bench.sample("ktms_snapshot_age_seconds") == 4.5


def test_the_release_is_a_label(bench: Any) -> None:
    assert bench.sample('ktms_build_info{version="1.2.3"}') == 1


def test_dropped_log_lines_show(bench: Any) -> None:
    bench.telemetry.stop()
    bench.telemetry.event("info", "too_late")
    assert bench.sample("ktms_log_lines_dropped_total") == 1


def test_a_quote_in_a_label_is_escaped(bench: Any, make_record: Callable[..., CallRecord]) -> None:
    bench.telemetry.call_ended(make_record(model='a"b\n'))
    families = text_string_to_metric_families(bench.telemetry.exposition().decode())
    requests = next(family for family in families if family.name == "ktms_requests")
    assert requests.samples[0].labels["model"] == 'a"b\n'


def test_the_content_type_names_the_format_version() -> None:
    assert "version=0.0.4" in CONTENT_TYPE
