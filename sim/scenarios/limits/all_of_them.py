"""All scenarios of limits."""

from sim.scenarios.limits.away import AWAY_SCENARIOS
from sim.scenarios.limits.back import BACK_SCENARIOS
from sim.scenarios.limits.crowds import CROWD_SCENARIOS
from sim.scenarios.limits.killed import KILLED_SCENARIOS
from sim.scenarios.scenario import Scenario

LIMIT_SCENARIOS: tuple[Scenario, ...] = (
    *AWAY_SCENARIOS,
    *BACK_SCENARIOS,
    *CROWD_SCENARIOS,
    *KILLED_SCENARIOS,
)
