"""Scenarios of limits: what keys and teams may use, while what counts it fails."""
