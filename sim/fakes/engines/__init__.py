"""The engines that serve models on nodes, each with its own habits."""
