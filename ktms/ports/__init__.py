"""What the engine needs from the world: one Protocol per file, one to five methods, owned by the caller.

A port's docstring is its contract; `tests/contracts/` checks it on the fake and on the real adapter alike.
"""
