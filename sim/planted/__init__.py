"""Faults planted into production code on purpose: a simulator that does not find them is broken."""
