import pytest

from sim import bench
from sim.bench import Figure, Report, measure, yardstick


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Report:
    for name, size in (
        ("SPARSE_S", 400.0),
        ("SPARSE_CALLS", 4),
        ("PORT_CALLS", 5),
        ("WIRE_CALLS", 5),
        ("EXPLORED", 1),
    ):
        monkeypatch.setattr(bench, name, size)
    return measure(1)


def test_every_figure_is_measured(report: Report) -> None:
    assert [figure.name for figure in report.figures if figure.value <= 0] == []


def test_the_bars_are_those_that_were_set(report: Report) -> None:
    assert [figure.bar for figure in report.figures] == [1000.0, 1000.0, 80.0, *[0.0] * 5]


def test_a_figure_is_compared_at_the_reference_speed() -> None:
    slow_machine = Figure("x", "u", value=60.0, bar=80.0, adjusted=90.0)
    assert slow_machine.reached


def test_the_yardstick_takes_its_time() -> None:
    assert yardstick() > 0
