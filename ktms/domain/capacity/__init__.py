"""Own machines: nodes, slots, choice among them."""
