from collections.abc import Callable

from ktms.adapters.telemetry.series import COUNTER_SETS_MAX
from ktms.adapters.telemetry.tally import Tally
from ktms.domain.ids import NodeName, VendorName
from ktms.ports.telemetry import AttemptRecord, CallRecord, Dependency, Gauge

BUSY = AttemptRecord(VendorName("local"), NodeName("mac-1"), "busy")
OK = AttemptRecord(VendorName("openai"), None, "ok")


def test_a_call_counts_under_model_vendor_and_status(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(status=502))
    assert tally.requests.values == {("small", "openai", "502"): 1}


def test_a_call_that_reached_no_model_has_empty_labels(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(status=401, model=None, vendor=None, upstream_s=0.0))
    assert tally.requests.values == {("", "", "401"): 1}


def test_a_call_that_was_never_dialled_has_no_upstream_duration(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(upstream_s=0.0))
    assert not tally.upstream_s.spreads


def test_overhead_is_what_queue_and_upstream_leave(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(total_s=1.0, upstream_s=0.5, queue_s=0.25))
    assert tally.overhead_s.spreads[()].sum == 0.25


def test_overhead_is_never_negative(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(total_s=1.0, upstream_s=1.5))
    assert tally.overhead_s.spreads[()].sum == 0


def test_the_first_token_is_timed_only_where_there_was_one(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(first_token_s=None))
    tally.add_call(make_record(first_token_s=0.5))
    assert sum(tally.first_token_s.spreads["small", "openai"].counts) == 1


def test_only_calls_that_queued_are_in_the_queue_histogram(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(queue_s=0.0))
    tally.add_call(make_record(queue_s=0.5))
    assert tally.queue_s.spreads["small",].sum == 0.5


def test_tokens_count_by_kind(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(prompt_tokens=7, completion_tokens=3))
    assert tally.tokens.values == {("prompt",): 7, ("completion",): 3}


def test_costs_count_by_vendor_and_model(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(cost_micros=0))
    tally.add_call(make_record(cost_micros=7))
    tally.add_call(make_record(cost_micros=5))
    assert tally.cost_micros.values == {("openai", "small"): 12}
    assert tally.cost_micros in tally.counters


def test_answers_given_again_are_counted_where_they_are_kept(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    for cache in ("hit", "miss", "hit", None):
        tally.add_call(make_record(cache=cache))
    assert tally.cache.values == {("hit",): 2, ("miss",): 1}
    assert tally.cache in tally.counters


def test_a_call_whose_client_left_counts_as_cancelled(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(cancelled=True))
    assert tally.cancelled.values == {(): 1}


def test_every_attempt_counts_under_its_vendor_and_result(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(attempts=(BUSY, OK)))
    assert tally.attempts.values == {("local", "busy"): 1, ("openai", "ok"): 1}


def test_attempts_on_nodes_count_under_the_node_too(make_record: Callable[..., CallRecord]) -> None:
    tally = Tally()
    tally.add_call(make_record(attempts=(BUSY, OK)))
    assert tally.node_attempts.values == {("mac-1", "busy"): 1}


def test_failures_count_under_dependency_operation_and_kind() -> None:
    tally = Tally()
    tally.add_failure(Dependency.REDIS, "take", "timeout")
    assert tally.dependency_errors.values == {("redis", "take", "timeout"): 1}


def test_every_gauge_of_the_port_can_be_set() -> None:
    tally = Tally()
    for gauge in Gauge:
        tally.set_gauge(gauge, 1, "x")
    assert all(family.values for family in tally.gauges)


def test_folded_additions_of_all_families_add_up() -> None:
    tally = Tally()
    for number in range(COUNTER_SETS_MAX + 2):
        tally.add_failure(Dependency.NODE, str(number), "refused")
    assert tally.folded_total == 2


def test_every_name_begins_with_the_prefix() -> None:
    tally = Tally()
    counters, histograms, gauges = tally.counters, tally.histograms, tally.gauges
    names = [family.name for family in counters] + [family.name for family in histograms]
    names += [family.name for family in gauges]
    assert [name for name in names if not name.startswith("ktms_")] == []
