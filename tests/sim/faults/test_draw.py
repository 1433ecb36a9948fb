"""Plans are drawn only of what there is to break."""

from sim.faults.draw import AMOUNTS, Aims, draw_plan
from sim.faults.plan import KINDS, On
from sim.registry.failures import FAILURES
from sim.registry.scripts import SCRIPTS
from sim.seed import Seed

OF_NODES = [name for name, kind in KINDS.items() if kind.on is On.NODE]


def test_faults_of_machines_strike_machines_alone() -> None:
    aims = Aims(["cloud-a", "node-0"], ["gw1"], ["node-0"])
    plan = draw_plan(Seed(1), aims, count=40, runs_s=60.0, kinds=OF_NODES)
    assert ({fault.target for fault in plan}, {fault.kind for fault in plan}) == ({"node-0"}, set(OF_NODES))


def test_where_there_is_no_machine_there_is_no_such_fault() -> None:
    assert draw_plan(Seed(1), Aims(["cloud-a"], ["gw1"]), count=5, runs_s=60.0, kinds=OF_NODES) == ()


def test_every_kind_that_has_an_amount_is_drawn_with_one() -> None:
    assert {name for name, kind in KINDS.items() if kind.amount} == AMOUNTS.keys() - {"wall_jump", "lag"} | {
        "wall_jump",
        "lag",
    }


def test_a_fault_stands_for_rows_that_there_are() -> None:
    assert {name for kind in KINDS.values() for name in kind.ids} <= FAILURES.keys() | SCRIPTS.keys()
