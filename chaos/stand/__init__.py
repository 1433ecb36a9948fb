"""What is broken: three gateways, their ledger, and vendors and engines of this process, on real services."""
