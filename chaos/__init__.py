"""The chaos suite: several real gateways on real services, something real is broken, and the run is judged.

Postgres, Redis and the ledger stand behind Toxiproxy; traffic runs while a fault is put in and taken out again;
the journal of the run goes to the same checkers that judge simulated worlds. The product is seen from outside
alone: its commands as processes, its doors over HTTP. Not here: the simulator, and any module of the product.
"""
