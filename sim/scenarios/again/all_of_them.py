"""The scenarios of answers that are given again."""

from sim.scenarios.again.cached import CACHED_SCENARIOS
from sim.scenarios.again.hot import HOT_SCENARIOS
from sim.scenarios.again.words import WORD_SCENARIOS

AGAIN_SCENARIOS = (*CACHED_SCENARIOS, *HOT_SCENARIOS, *WORD_SCENARIOS)
