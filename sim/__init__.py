"""The deterministic world: the production assembly on virtual time and a simulated network, fakes behind ports."""
