"""Scenarios of the gateway's own life: signals, clocks, herds, and clients that leave."""
