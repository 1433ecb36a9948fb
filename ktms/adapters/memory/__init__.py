"""Fakes and embedded stores in memory; they pass the same contract suites as the real ones."""
