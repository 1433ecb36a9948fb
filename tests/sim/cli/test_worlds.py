import io

from sim.cli.worlds import serve
from sim.interpreter import Order, write_order
from sim.outcome_row import read_told


def test_each_order_is_answered_with_one_line() -> None:
    outcomes = io.StringIO()
    serve([write_order(Order("explore-ports", seed)) for seed in (1, 2)], outcomes, 60.0)
    assert [read_told(line).outcome.seed for line in outcomes.getvalue().splitlines()] == [1, 2]


def test_the_faults_of_a_world_are_told_with_it() -> None:
    outcomes = io.StringIO()
    serve([write_order(Order("explore-ports", 1))], outcomes, 60.0)
    assert read_told(outcomes.getvalue()).faults
