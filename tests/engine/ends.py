"""What came of a call, and of the node it went to."""

from ktms.domain.capacity.seat import Health
from ktms.domain.errors import Problem
from ktms.domain.ids import NodeName
from ktms.engine.call import Failed, Result, Whole
from tests.engine.machines import ONE
from tests.engine.rig import Rig


def story(result: Result) -> str:
    assert isinstance(result, Whole | Failed), result
    return dict(result.headers).get("X-KTMS-Attempts", "")


def cause(result: Result) -> Problem:
    assert isinstance(result, Failed), result
    return result.problem


def health(rig: Rig, node: NodeName = ONE) -> Health:
    state = rig.machines.fleet.state(node)
    assert state is not None
    return state.health
