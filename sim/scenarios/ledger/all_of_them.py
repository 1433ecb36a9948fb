"""All scenarios of accounting."""

from sim.scenarios.ledger.leavers import LEAVER_SCENARIOS
from sim.scenarios.ledger.outages import OUTAGE_SCENARIOS
from sim.scenarios.ledger.repeats import REPEAT_SCENARIOS
from sim.scenarios.scenario import Scenario

LEDGER_SCENARIOS: tuple[Scenario, ...] = (*OUTAGE_SCENARIOS, *REPEAT_SCENARIOS, *LEAVER_SCENARIOS)
