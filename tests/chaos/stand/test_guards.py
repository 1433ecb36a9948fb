import pkgutil

import pytest

from chaos.experiments.all_of_them import EXPERIMENTS
from chaos.stand.guards import GUARDS, Guard
from sim.planted.bug import altered


@pytest.mark.parametrize("guard", GUARDS.values(), ids=lambda guard: guard.id)
def test_a_guard_can_be_taken_away_where_it_stands(guard: Guard) -> None:
    place = pkgutil.resolve_name(guard.place)
    with altered(guard.id, place, guard.old, guard.new):
        pass


def test_every_guard_has_a_figure_that_shows_it() -> None:
    shown = {one.figure.guard for one in EXPERIMENTS.values() if one.figure is not None}
    assert shown == GUARDS.keys()
