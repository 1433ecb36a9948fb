"""The composition root: assembles the gateway from ports, and runs it."""
