"""The deterministic world: the real engine over fake everything else."""
