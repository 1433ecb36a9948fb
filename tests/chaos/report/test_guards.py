from chaos.experiments.all_of_them import EXPERIMENTS
from chaos.experiments.compare import Comparison
from chaos.report.guards import guard_lines, guards_as_json

HUNG = EXPERIMENTS["redis-hung"]
NEEDED, IDLE = Comparison(HUNG, 0.001, 0.108), Comparison(HUNG, 0.1, 0.1)


def test_a_line_tells_both_figures() -> None:
    head, line = guard_lines([NEEDED])
    assert head.split()[:2] == ["experiment", "guard"]
    assert line.split()[:4] == ["redis-hung", "redis-left-alone", "0.001", "0.108"]


def test_a_guard_that_nothing_needs_stands_in_brackets() -> None:
    assert next(line for line in guard_lines([IDLE]) if "hung" in line).startswith("(redis-hung)")


def test_machines_are_told_whether_it_was_needed() -> None:
    assert [one["passed"] for one in guards_as_json([NEEDED, IDLE])] == [True, False]
