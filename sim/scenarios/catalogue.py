"""All scenarios, by their ids: what `sim run`, `swarm`, `coverage` and `list` know."""

from sim.scenarios.again.all_of_them import AGAIN_SCENARIOS
from sim.scenarios.batches.all_of_them import BATCH_SCENARIOS
from sim.scenarios.books.all_of_them import BOOK_SCENARIOS
from sim.scenarios.everything import EVERYTHING, NIGHTLY
from sim.scenarios.explore import EXPLORERS
from sim.scenarios.fleet.leases.all_of_them import LEASE_SCENARIOS
from sim.scenarios.fleet.nodes.all_of_them import NODE_SCENARIOS
from sim.scenarios.ledger.all_of_them import LEDGER_SCENARIOS
from sim.scenarios.lifecycle.all_of_them import LIFECYCLE_SCENARIOS
from sim.scenarios.limits.all_of_them import LIMIT_SCENARIOS
from sim.scenarios.overload.all_of_them import OVERLOAD_SCENARIOS
from sim.scenarios.redis.all_of_them import REDIS_SCENARIOS
from sim.scenarios.scenario import Scenario
from sim.scenarios.targets.all_of_them import TARGET_SCENARIOS

SCENARIOS: dict[str, Scenario] = {
    scenario.id: scenario
    for scenario in (
        *EXPLORERS,
        *TARGET_SCENARIOS,
        *BOOK_SCENARIOS,
        *BATCH_SCENARIOS,
        *AGAIN_SCENARIOS,
        *LIFECYCLE_SCENARIOS,
        *LEDGER_SCENARIOS,
        *LIMIT_SCENARIOS,
        *LEASE_SCENARIOS,
        *NODE_SCENARIOS,
        *REDIS_SCENARIOS,
        *OVERLOAD_SCENARIOS,
        *EVERYTHING,
    )
}
"""What the matrix plays."""

ALL_SCENARIOS = SCENARIOS | {scenario.id: scenario for scenario in NIGHTLY}
"""Those too that last so long that they are played by night, or by hand."""
