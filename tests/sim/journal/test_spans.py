"""Spans of time and switches."""

import math

import pytest

from sim.journal.spans import Span, any_overlaps, joined, switched


@pytest.mark.parametrize(("since", "until"), [(0, 5), (0, 6), (7, 8), (10, 20), (0, 20)])
def test_a_span_overlaps_what_shares_a_moment_with_it(since: float, until: float) -> None:
    assert Span(5, 10).overlaps(since, until)


@pytest.mark.parametrize(("since", "until"), [(0, 4.9), (10.1, 20)])
def test_a_span_overlaps_nothing_else(since: float, until: float) -> None:
    assert not any_overlaps([Span(5, 10)], since, until)


@pytest.mark.parametrize(("since", "until", "shared_s"), [(0, 7, 2), (0, 20, 5), (6, 7, 1), (20, 30, 0)])
def test_a_span_shares_seconds(since: float, until: float, shared_s: float) -> None:
    assert Span(5, 10).shared_s(since, until) == shared_s


def test_switches_become_spans() -> None:
    assert switched([(1, True), (3, False), (5, True)]) == [Span(1, 3), Span(5, math.inf)]


def test_what_is_on_twice_has_to_be_switched_off_twice() -> None:
    assert switched([(1, True), (2, True), (3, False), (4, False)]) == [Span(1, 4)]


def test_switching_off_what_is_off_does_nothing() -> None:
    assert switched([(0, False), (1, True), (2, False)]) == [Span(1, 2)]


def test_spans_with_little_between_them_are_one() -> None:
    spans = [Span(10.0, 12.0), Span(0.0, 2.0), Span(3.0, 4.0), Span(3.5, 3.7), Span(20.0)]
    assert joined(spans, 1.0) == [Span(0.0, 4.0), Span(10.0, 12.0), Span(20.0)]
    assert joined(spans, 8.0) == [Span(0.0)]
    assert joined([], 1.0) == []
