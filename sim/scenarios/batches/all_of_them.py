"""All scenarios of batches."""

from sim.scenarios.batches.away import AWAY
from sim.scenarios.batches.failover import FAILOVER_SCENARIOS
from sim.scenarios.batches.killed import KILLED
from sim.scenarios.batches.night import NIGHT
from sim.scenarios.batches.turns import TURN_SCENARIOS
from sim.scenarios.scenario import Scenario

BATCH_SCENARIOS: tuple[Scenario, ...] = (*KILLED, *AWAY, *FAILOVER_SCENARIOS, *NIGHT, *TURN_SCENARIOS)
