"""The scenarios about targets, all of them."""

from sim.scenarios.scenario import Scenario
from sim.scenarios.targets.before_visible import BEFORE_VISIBLE
from sim.scenarios.targets.breakers import BREAKERS
from sim.scenarios.targets.errors_in_200 import ERRORS_IN_200
from sim.scenarios.targets.malformed import MALFORMED
from sim.scenarios.targets.midway import MIDWAY
from sim.scenarios.targets.rests import RESTS

TARGET_SCENARIOS: tuple[Scenario, ...] = (
    *BEFORE_VISIBLE,
    *MIDWAY,
    *BREAKERS,
    *RESTS,
    *ERRORS_IN_200,
    *MALFORMED,
)
