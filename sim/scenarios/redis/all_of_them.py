"""All scenarios of a Redis that answers and refuses."""

from sim.scenarios.redis.refusing import REFUSING_SCENARIOS
from sim.scenarios.redis.unfit import UNFIT_SCENARIOS
from sim.scenarios.redis.worst import WORST_SCENARIOS
from sim.scenarios.scenario import Scenario

REDIS_SCENARIOS: tuple[Scenario, ...] = (*REFUSING_SCENARIOS, *UNFIT_SCENARIOS, *WORST_SCENARIOS)
