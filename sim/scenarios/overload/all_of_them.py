"""All scenarios of a gateway with too much to do, or that stands still."""

from sim.scenarios.overload.crowd import CROWD_SCENARIOS
from sim.scenarios.overload.files import FILE_SCENARIOS
from sim.scenarios.overload.still import STILL_SCENARIOS
from sim.scenarios.scenario import Scenario

OVERLOAD_SCENARIOS: tuple[Scenario, ...] = (*CROWD_SCENARIOS, *STILL_SCENARIOS, *FILE_SCENARIOS)
