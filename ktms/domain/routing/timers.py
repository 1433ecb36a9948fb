"""How long each phase of an attempt may take, for nodes and for the cloud.

Defaults are those of the routing documentation; a vendor's and then a model's own settings replace them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timers:
    """Seconds, one per phase; each restarts nothing of another.

    `first_token_s` runs from the moment the request is sent until the sink says FLOWING (streams) or the response
    head is there (all others). `idle_s` runs between two reads after that. `total_s` bounds the whole exchange.
    """

    pool_s: float
    connect_s: float
    first_token_s: float
    idle_s: float
    total_s: float
