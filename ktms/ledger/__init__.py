"""The accounting service: `ktms ledger`, a process of its own with a database of its own."""
