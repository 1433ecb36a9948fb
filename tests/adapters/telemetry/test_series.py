from hypothesis import given
from hypothesis import strategies as st

from ktms.adapters.telemetry import series
from ktms.adapters.telemetry.series import OTHER, Counters, Gauges, Histograms


def test_a_counter_adds_up_per_label_set() -> None:
    counters = Counters("c", "about", ("vendor",))
    counters.add(("openai",))
    counters.add(("openai",), 2)
    counters.add(("mistral",))
    assert counters.values == {("openai",): 3, ("mistral",): 1}


def test_label_sets_beyond_the_limit_of_a_counter_are_folded_into_other() -> None:
    counters = Counters("c", "about", ("vendor",))
    for number in range(series.COUNTER_SETS_MAX + 3):
        counters.add((str(number),))
    assert (counters.values[OTHER,], counters.folded_total) == (3, 3)


@given(st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 5)), max_size=50))
def test_the_sum_over_a_counter_is_what_was_added(additions: list[tuple[int, int]]) -> None:
    counters = Counters("c", "about", ("vendor",))
    for label, amount in additions:
        counters.add((str(label),), amount)
    assert sum(counters.values.values()) == sum(amount for _, amount in additions)


def test_a_duration_on_a_bound_falls_into_the_bucket_below_it() -> None:
    histograms = Histograms("h", "about", (), (0.1, 1.0))
    for value in (0.1, 0.2, 1.0, 1.1):
        histograms.observe((), value)
    assert histograms.spreads[()].counts == [1, 2, 1]


def test_a_histogram_sums_its_durations() -> None:
    histograms = Histograms("h", "about", (), (1.0,))
    histograms.observe((), 0.25)
    histograms.observe((), 0.5)
    assert histograms.spreads[()].sum == 0.75


def test_label_sets_beyond_the_limit_of_a_histogram_are_folded_into_other() -> None:
    histograms = Histograms("h", "about", ("model",), (1.0,))
    for number in range(series.HISTOGRAM_SETS_MAX + 2):
        histograms.observe((str(number),), 0.5)
    assert (histograms.spreads[OTHER,].counts, histograms.folded_total) == ([2, 0], 2)


def test_a_gauge_without_a_label_ignores_the_label_given() -> None:
    gauges = Gauges("g", "about", None)
    gauges.set("surplus", 1)
    assert gauges.values == {(): 1}


def test_a_full_gauge_still_takes_new_values_of_known_labels() -> None:
    gauges = Gauges("g", "about", "node")
    for number in range(series.GAUGE_SETS_MAX + 1):
        gauges.set(str(number), 0)
    gauges.set("7", 4)
    assert (gauges.values["7",], gauges.folded_total) == (4, 1)
