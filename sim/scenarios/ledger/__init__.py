"""Scenarios of accounting: the ledger fails, and no usage event is lost without being counted."""
