"""All scenarios of Redis and the leases in it."""

from sim.scenarios.fleet.leases.away import AWAY_SCENARIOS
from sim.scenarios.fleet.leases.empty import EMPTY_SCENARIOS
from sim.scenarios.fleet.leases.holders import HOLDER_SCENARIOS
from sim.scenarios.fleet.leases.joining import JOINING_SCENARIOS
from sim.scenarios.fleet.leases.killed import KILLED_SCENARIOS
from sim.scenarios.fleet.leases.late import LATE_SCENARIOS
from sim.scenarios.fleet.leases.moving import MOVING_SCENARIOS
from sim.scenarios.fleet.leases.renewals import RENEWAL_SCENARIOS
from sim.scenarios.scenario import Scenario

LEASE_SCENARIOS: tuple[Scenario, ...] = (
    *AWAY_SCENARIOS,
    *LATE_SCENARIOS,
    *EMPTY_SCENARIOS,
    *KILLED_SCENARIOS,
    *RENEWAL_SCENARIOS,
    *JOINING_SCENARIOS,
    *MOVING_SCENARIOS,
    *HOLDER_SCENARIOS,
)
