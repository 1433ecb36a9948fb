"""The scenarios about our own machines, all of them."""

from sim.scenarios.fleet.nodes.all_bad import ALL_BAD
from sim.scenarios.fleet.nodes.burst import BURST
from sim.scenarios.fleet.nodes.chains import CHAINS
from sim.scenarios.fleet.nodes.confined import CONFINED_ONES
from sim.scenarios.fleet.nodes.draining import DRAINING
from sim.scenarios.fleet.nodes.forecasts import FORECASTS
from sim.scenarios.fleet.nodes.full import FULL
from sim.scenarios.fleet.nodes.loading import LOADING
from sim.scenarios.fleet.nodes.other_model import OTHER_MODEL
from sim.scenarios.fleet.nodes.shares import SHARES
from sim.scenarios.fleet.nodes.slow import SLOW
from sim.scenarios.fleet.nodes.vanishing import VANISHING
from sim.scenarios.scenario import Scenario

NODE_SCENARIOS: tuple[Scenario, ...] = (
    *VANISHING,
    *FULL,
    *DRAINING,
    *LOADING,
    *OTHER_MODEL,
    *ALL_BAD,
    *CONFINED_ONES,
    *CHAINS,
    *SLOW,
    *BURST,
    *SHARES,
    *FORECASTS,
)
