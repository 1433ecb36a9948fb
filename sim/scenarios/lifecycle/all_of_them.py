"""All scenarios of the gateway's own life."""

from sim.scenarios.lifecycle.clocks import CLOCK_SCENARIOS
from sim.scenarios.lifecycle.disagreeing import DISAGREEING_SCENARIOS
from sim.scenarios.lifecycle.herd import HERD_SCENARIOS
from sim.scenarios.lifecycle.leavers import LEAVER_SCENARIOS
from sim.scenarios.lifecycle.signals import SIGNAL_SCENARIOS
from sim.scenarios.scenario import Scenario

LIFECYCLE_SCENARIOS: tuple[Scenario, ...] = (
    *SIGNAL_SCENARIOS,
    *CLOCK_SCENARIOS,
    *DISAGREEING_SCENARIOS,
    *HERD_SCENARIOS,
    *LEAVER_SCENARIOS,
)
