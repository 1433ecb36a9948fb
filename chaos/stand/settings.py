"""What a stand is made of, and what its judges are told of it.

Not here: the file that the gateways are given (`catalogue.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sim.journal.fact import Value

MODEL = "house"
"""The public name of the one model."""

VENDOR_MODEL = "chaos-model-1"
"""What every target calls it."""

WINDOW_TOKENS = 8192

CALL_TOTAL_S = 660.0
CLIENT_STALL_S = 60.0
"""What the documents promise, written down apart from the product."""

REDIS_TIMEOUT_MS = 100
"""What one call pays, once, for a Redis that hangs, unless it is told otherwise."""

POSTGRES, REDIS, LEDGER = "postgres", "redis", "ledger"
"""What stands behind proxies, besides the targets."""

NEWS = "news"
"""Postgres once more, on the way by which replicas hear of changes, where that is a way of its own."""


@dataclass(frozen=True, slots=True)
class KeyWish:
    """One client key: its name, and the options of `ktms admin keys create` for it."""

    name: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StandSettings:
    """The stand. Times are seconds; `slots` are those of each node.

    `apart`: services that each replica reaches by a proxy of its own. `targets_behind_proxies`: the targets have
    proxies too, one each for all. `variables` go to every gateway besides those that the stand needs. `unguarded`
    is the guard that all gateways go without. `files_max`: files that each gateway may open; 0: as many as we may.
    `news_apart`: news of Postgres come by a proxy of their own. `saved`: the replicas that save what they need to
    start alone. `vendor_keys`: how many credentials a vendor has; those not named have one. `memory_only`: the
    replicas whose usage events wait in memory, although all others have a `spool`. `agents`: nodes that are
    declared nowhere, and join by an agent of their own.
    """

    gateways: int = 3
    nodes: tuple[str, ...] = ("node-0", "node-1")
    clouds: tuple[str, ...] = ("cloud-a", "cloud-b")
    slots: int = 8
    keys: tuple[KeyWish, ...] = (KeyWish("app-1"), KeyWish("app-2"), KeyWish("app-3"))
    apart: frozenset[str] = frozenset()
    targets_behind_proxies: bool = True
    spool: bool = True
    memory_only: frozenset[str] = frozenset()
    first_token_s: float = 0.02
    token_s: float = 0.01
    connect_timeout_s: float = 2.0
    first_token_timeout_s: float = 8.0
    idle_timeout_s: float = 6.0
    total_timeout_s: float = 120.0
    queue_timeout_ms: int = 2000
    drain_delay_s: float = 1.0
    shutdown_timeout_s: float = 10.0
    key_window_s: int = 300
    redis_timeout_ms: int = 300
    attempts_max: int = 6
    files_max: int = 0
    news_apart: bool = False
    saved: frozenset[str] = frozenset()
    vendor_keys: Mapping[str, int] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    unguarded: str = ""
    agents: tuple[str, ...] = ()

    @property
    def gateway_names(self) -> tuple[str, ...]:
        """The names of the replicas."""
        return tuple(f"gw{number}" for number in range(1, self.gateways + 1))

    def as_shipped(self) -> "StandSettings":
        """Give the same with the times that the product has without being told."""
        return replace(
            self, key_window_s=300, drain_delay_s=5.0, shutdown_timeout_s=30.0, redis_timeout_ms=REDIS_TIMEOUT_MS
        )

    def told(self) -> dict[str, Value]:
        """Give what judges are told, by name."""
        told: dict[str, Value] = {
            "placement": "nodes_first",
            "attempts_max": self.attempts_max,
            "call_total_s": CALL_TOTAL_S,
            "client_stall_s": CLIENT_STALL_S,
            "drain_delay_s": self.drain_delay_s,
            "shutdown_s": self.shutdown_timeout_s,
            "key_window_s": self.key_window_s,
            "first_token_s": self.first_token_timeout_s,
            "idle_s": self.idle_timeout_s,
            "spool": self.spool,
        }
        told |= {f"slots:{node}": self.slots for node in self.nodes}
        told |= {f"engine:{node}": "vllm" for node in self.nodes}
        told |= {f"agent:{node}": "before it" for node in self.agents}
        return told | {f"keys:{cloud}": self.keys_of(cloud) for cloud in self.clouds}

    def keys_of(self, cloud: str) -> int:
        """Give how many credentials a vendor has handed out."""
        return self.vendor_keys.get(cloud, 1)
