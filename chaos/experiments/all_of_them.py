"""All experiments, by name."""

from chaos.experiments.agents import AGENT_EXPERIMENTS
from chaos.experiments.crowds import CROWD_EXPERIMENTS
from chaos.experiments.events import EVENT_EXPERIMENTS
from chaos.experiments.experiment import Experiment
from chaos.experiments.failover import FAILOVER_EXPERIMENTS
from chaos.experiments.gateway import GATEWAY_EXPERIMENTS
from chaos.experiments.keys import KEY_EXPERIMENTS
from chaos.experiments.ledger import LEDGER_EXPERIMENTS
from chaos.experiments.migrations import MIGRATION_EXPERIMENTS
from chaos.experiments.money import MONEY_EXPERIMENTS
from chaos.experiments.nodes import NODE_EXPERIMENTS
from chaos.experiments.nonsense import NONSENSE_EXPERIMENTS
from chaos.experiments.postgres import POSTGRES_EXPERIMENTS
from chaos.experiments.redis import REDIS_EXPERIMENTS
from chaos.experiments.redis_roles import REDIS_ROLE_EXPERIMENTS
from chaos.experiments.repeats import REPEAT_EXPERIMENTS
from chaos.experiments.restarts import RESTART_EXPERIMENTS
from chaos.experiments.stalls import STALL_EXPERIMENTS
from chaos.experiments.targets import TARGET_EXPERIMENTS
from chaos.experiments.vendors import VENDOR_EXPERIMENTS

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        *REDIS_EXPERIMENTS,
        *POSTGRES_EXPERIMENTS,
        *REDIS_ROLE_EXPERIMENTS,
        *FAILOVER_EXPERIMENTS,
        *RESTART_EXPERIMENTS,
        *KEY_EXPERIMENTS,
        *REPEAT_EXPERIMENTS,
        *LEDGER_EXPERIMENTS,
        *MONEY_EXPERIMENTS,
        *EVENT_EXPERIMENTS,
        *TARGET_EXPERIMENTS,
        *VENDOR_EXPERIMENTS,
        *NONSENSE_EXPERIMENTS,
        *NODE_EXPERIMENTS,
        *AGENT_EXPERIMENTS,
        *GATEWAY_EXPERIMENTS,
        *CROWD_EXPERIMENTS,
        *STALL_EXPERIMENTS,
        *MIGRATION_EXPERIMENTS,
    )
}
