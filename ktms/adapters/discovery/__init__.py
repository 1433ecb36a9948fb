"""Finds the engines that already run on this machine, for the first start without a configuration.

Looks at a few well-known loopback ports, tells the engine by its answers (never by its port), and returns values
the catalogue can take. It only reads: no model is loaded, warmed or changed by being found.
Not here: engines on other machines (they are declared), and watching engines afterwards (the agent, the probes).
"""

from ktms.adapters.discovery.found import Found, merged_models
from ktms.adapters.discovery.look import PORTS, discover
from ktms.adapters.discovery.pages import LoopbackAsker

__all__ = ["PORTS", "Found", "LoopbackAsker", "discover", "merged_models"]
