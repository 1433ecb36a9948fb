"""All experiments, by name."""

from chaos.experiments.experiment import Experiment
from chaos.experiments.gateway import GATEWAY_EXPERIMENTS
from chaos.experiments.ledger import LEDGER_EXPERIMENTS
from chaos.experiments.postgres import POSTGRES_EXPERIMENTS
from chaos.experiments.redis import REDIS_EXPERIMENTS
from chaos.experiments.targets import TARGET_EXPERIMENTS

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        *REDIS_EXPERIMENTS,
        *POSTGRES_EXPERIMENTS,
        *LEDGER_EXPERIMENTS,
        *TARGET_EXPERIMENTS,
        *GATEWAY_EXPERIMENTS,
    )
}
