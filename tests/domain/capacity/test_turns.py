"""Smooth weighted round robin: as a real nginx does it, and where our rule is another one."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.capacity.candidate import Candidate, Row
from ktms.domain.capacity.seat import Health
from ktms.domain.capacity.turns import pay, recentre, turn
from ktms.domain.capacity.weighing import NO_CLASS
from ktms.domain.ids import NodeName
from tests.domain.capacity.fleets import weighted

RECORDING = json.loads((Path(__file__).parents[2] / "golden" / "nginx_swrr" / "picks.json").read_text())
GOLDENS = [(one["weights"], one["picks"]) for one in RECORDING["fixed"]]
RETURNING = RECORDING["returning"]

WEIGHTS = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def rows_of(weights: str) -> list[Row]:
    rows = []
    for seat in weighted(weights):
        one = Candidate(seat.state.node.name)
        one.look(seat)
        rows.append(one.row)
    return rows


def picks(rows: list[Row], count: int) -> str:
    found = ""
    for _ in range(count):
        whose = turn(rows, [row[3] for row in rows], 0)
        name = rows[whose.order[0]][7].name
        pay(whose, name)
        found += name
    return found


class Nginx:
    """The rules of nginx written down again, failures included; whoever failed gains its weight back by ones."""

    def __init__(self, weights: str) -> None:
        names = "abcde"
        self.weight = {name: int(weight) for name, weight in zip(names, weights.split(","), strict=False)}
        self.effective = dict(self.weight)
        self.current = dict.fromkeys(self.weight, 0)

    def pick(self, absent: str = "") -> str:
        here = [name for name in self.weight if name not in absent]
        total = 0
        for name in here:
            self.current[name] += self.effective[name]
            total += self.effective[name]
            self.effective[name] = min(self.effective[name] + 1, self.weight[name])
        best = max(here, key=self.current.__getitem__)
        self.current[best] -= total
        return best

    def fails(self, name: str) -> None:
        self.effective[name] = 0


@pytest.mark.parametrize(("weights", "golden"), GOLDENS)
def test_fixed_weights_give_the_sequence_of_a_real_nginx(weights: str, golden: str) -> None:
    assert picks(rows_of(weights), len(golden)) == golden


@given(WEIGHTS, st.integers(0, 100))
def test_it_is_the_published_algorithm(weights: list[int], count: int) -> None:
    text = ",".join(map(str, weights))
    nginx = Nginx(text)

    assert picks(rows_of(text), count) == "".join(nginx.pick() for _ in range(count))


def test_a_real_nginx_takes_a_returning_peer_back_with_its_old_credit_and_little_weight() -> None:
    nginx = Nginx(RETURNING["weights"])
    before = "".join(nginx.pick() for _ in RETURNING["before"])
    assert nginx.pick() == "a"
    nginx.fails("a")
    away = "".join(nginx.pick("a") for _ in RETURNING["away"])
    credit = nginx.current["a"]
    after = "".join(nginx.pick() for _ in RETURNING["after"])

    assert (before, away, after) == (RETURNING["before"], RETURNING["away"], RETURNING["after"])
    assert credit < 0


def test_ours_differs_only_from_the_moment_a_peer_comes_back() -> None:
    rows = rows_of(RETURNING["weights"])
    before = picks(rows, len(RETURNING["before"]))
    whose = turn(rows, [row[3] for row in rows], 0)
    pay(whose, rows[whose.order[0]][7].name)
    away = picks(rows[1:], len(RETURNING["away"]))
    one = rows[0][7]
    one.move(NO_CLASS)
    one.move(0)
    recentre(row[7] for row in rows)
    back = picks(rows, 6)

    assert (before, away) == (RETURNING["before"], RETURNING["away"])
    assert RETURNING["after"].startswith("cbcb")
    assert back == "cababa"


@given(WEIGHTS, st.lists(st.tuples(st.integers(0, 31), st.sampled_from([1.0, 0.3, 0.01])), max_size=200))
def test_the_sum_of_all_credits_stays_zero(weights: list[int], flaps: list[tuple[int, float]]) -> None:
    rows = rows_of(",".join(map(str, weights)))
    for mask, load in flaps:
        here = [row for place, row in enumerate(rows) if not mask >> place & 1]
        if here:
            whose = turn(here, [row[3] * load for row in here], 0)
            pay(whose, here[whose.order[-1]][7].name)

    assert sum(row[7].credit for row in rows) == pytest.approx(0, abs=1e-9)


@given(WEIGHTS, st.lists(st.tuples(st.integers(0, 31), st.sampled_from([1.0, 0.3, 0.01])), max_size=200))
def test_nobody_starves_however_often_it_is_passed_over(
    weights: list[int], flaps: list[tuple[int, float]]
) -> None:
    """A credit is what one has gained less what it has paid: bounded, so it is picked in time with its share."""
    rows = rows_of(",".join(map(str, weights)))
    for mask, load in flaps:
        here = [row for place, row in enumerate(rows) if not mask >> place & 1]
        if here:
            whose = turn(here, [row[3] * load for row in here], 0)
            pay(whose, here[whose.order[0]][7].name)
            assert all(abs(row[7].credit) <= len(rows) for row in rows)


def test_a_light_one_that_is_passed_over_every_other_time_gets_its_share() -> None:
    rows = rows_of("5,1")
    found = "".join(picks(rows, 1) + picks(rows[:1], 1) for _ in range(60))

    assert found.count("b") == 10


def test_a_debt_of_idle_times_is_one_pick_when_all_are_busy() -> None:
    rows = rows_of("10,10,10")
    picks(rows, 1)
    found = ""
    for _ in range(3):
        whose = turn(rows, [0.01] * 3, 0)
        pay(whose, rows[whose.order[0]][7].name)
        found += rows[whose.order[0]][7].name

    assert "a" in found


def test_the_others_follow_in_the_order_of_their_turns() -> None:
    assert list(turn(rows_of("5,3,1"), [5, 3, 1], 0).order) == [0, 1, 2]


def test_nothing_is_gained_before_somebody_pays() -> None:
    rows = rows_of("5,1,1")
    turn(rows, [5, 1, 1], 0)

    assert [row[7].credit for row in rows] == [0, 0, 0]


def test_one_that_was_not_to_choose_from_pays_nothing() -> None:
    rows = rows_of("5,1,1")
    pay(turn(rows, [5, 1, 1], 0), NodeName("z"))

    assert [row[7].credit for row in rows] == [0, 0, 0]


def test_one_that_comes_from_another_class_begins_at_zero() -> None:
    rows = rows_of("1,1")
    picks(rows, 1)
    rows[0][0].health = Health.SUSPECT
    turn(rows[:1], [1], 2)

    assert (rows[0][7].credit, rows[0][7].kind) == (0, 2)


def test_a_class_is_centred_again_by_itself() -> None:
    rows = rows_of("1,1,1,1")
    for row, credit, kind in zip(rows, (3.0, 1.0, 5.0, 7.0), (0, 0, 2, NO_CLASS), strict=True):
        row[7].kind, row[7].credit = kind, credit
    recentre(row[7] for row in rows)

    assert [row[7].credit for row in rows] == [1, -1, 0, 7]
