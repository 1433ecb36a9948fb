"""All scenarios of the book-keeping."""

from sim.scenarios.books.back import BACK_SCENARIOS
from sim.scenarios.books.full import FULL_SCENARIOS
from sim.scenarios.books.half_hour import HALF_HOUR_SCENARIOS
from sim.scenarios.books.hung import HUNG_SCENARIOS
from sim.scenarios.books.keys import KEY_SCENARIOS
from sim.scenarios.books.once import ONCE_SCENARIOS
from sim.scenarios.books.ready import READY_SCENARIOS
from sim.scenarios.books.restart import RESTART_SCENARIOS
from sim.scenarios.books.revoked import REVOKED_SCENARIOS
from sim.scenarios.books.snapshots import SNAPSHOT_SCENARIOS
from sim.scenarios.scenario import Scenario

BOOK_SCENARIOS: tuple[Scenario, ...] = (
    *KEY_SCENARIOS,
    *HUNG_SCENARIOS,
    *SNAPSHOT_SCENARIOS,
    *ONCE_SCENARIOS,
    *READY_SCENARIOS,
    *BACK_SCENARIOS,
    *RESTART_SCENARIOS,
    *HALF_HOUR_SCENARIOS,
    *REVOKED_SCENARIOS,
    *FULL_SCENARIOS,
)
