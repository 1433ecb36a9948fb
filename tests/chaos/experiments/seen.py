"""What of an experiment's expectations holds of a story."""

from chaos.experiments.all_of_them import EXPERIMENTS
from chaos.experiments.experiment import Broken


def failing(name: str, broken: Broken) -> set[str]:
    """Give the texts of all that does not hold."""
    return {one.text for one in EXPERIMENTS[name].expects(broken) if not one.holds}
