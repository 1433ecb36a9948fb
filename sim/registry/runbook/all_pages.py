"""All pages, by id."""

from sim.registry.runbook.gateway import GATEWAY
from sim.registry.runbook.ledger import LEDGER
from sim.registry.runbook.page import Page
from sim.registry.runbook.postgres import POSTGRES
from sim.registry.runbook.redis import REDIS
from sim.registry.runbook.targets import NODES, VENDORS

PAGES: dict[str, Page] = {**REDIS, **POSTGRES, **LEDGER, **VENDORS, **NODES, **GATEWAY}
"""One for each row of the failure matrix, in its order."""
