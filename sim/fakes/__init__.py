"""Everything behind the ports of a simulated gateway, and every machine around it."""
