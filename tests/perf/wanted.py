"""Which gateway the benchmark wants, and the catalogue that makes it so: one model on the mock, one client key."""

from dataclasses import dataclass
from decimal import Decimal

from ktms.domain.access.limits import LIMIT_MAX, UNLIMITED, Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    DEFAULT_TENANT,
    Catalogue,
    ClientKeySpec,
    EngineKind,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PriceSpec,
    TargetSpec,
    TenantSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.ids import LOCAL
from tests.perf import wire

VENDOR = "mock"
NODE = "node"
"""Name of the machine, and the word on the command line that asks for it."""

LIMITS = "limits"
"""The word that asks for limits."""

NODE_SLOTS = 4096
"""More than any part of the benchmark asks for at once: it measures leases, not queues."""

WINDOW_TOKENS = 32_768

NEVER_BINDING = Limits(
    rpm=10_000_000,
    tpm=LIMIT_MAX,
    concurrent=100_000,
    usd_per_day_micros=500_000_000_000,
    usd_per_month_micros=500_000_000_000,
)
"""Every kind of limit. Rates are what a bucket must be filled with though nobody is ever refused."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for."""

    own_node: bool
    limited: bool

    @property
    def per_request(self) -> dict[str, int]:
        """Script calls that each request needs (docs/performance.md)."""
        leases = {"take": 1, "release": 1} if self.own_node else {}
        return {"reserve": 1, "settle": 1, **leases} if self.limited else leases

    @property
    def switches(self) -> dict[str, str]:
        """What `built` wires, in words; change both together."""
        always = ("key check", "plan", "metrics", "log line", "usage event")
        words = {True: "on", False: "off"}
        return {
            **dict.fromkeys(always, "on"),
            "ledger": "in the process",
            "limits in Redis": words[self.limited],
            "prices": words[self.limited],
            "lease in Redis": words[self.own_node],
        }


def catalogue(upstream_port: int, key: str, wanted: Wanted) -> Catalogue:
    """Declare the bench's only model on the mock: as a vendor's or, before that, as that of a machine of ours."""
    address = f"http://127.0.0.1:{upstream_port}"
    vendor = VendorSpec(VENDOR, VendorKind.OPENAI, f"{address}/v1", keys=(Secret("upstream"),), private=True)
    served = (NodeModelSpec(wire.VENDOR_MODEL, WINDOW_TOKENS),)
    node = NodeSpec(NODE, address, served, engine=EngineKind.VLLM, slots=NODE_SLOTS)
    names = (LOCAL, VENDOR) if wanted.own_node else (VENDOR,)
    limits = NEVER_BINDING if wanted.limited else UNLIMITED
    return Catalogue(
        vendors=(vendor,),
        nodes=(node,) if wanted.own_node else (),
        models=(ModelSpec(wire.MODEL, tuple(TargetSpec(name, wire.VENDOR_MODEL) for name in names)),),
        tenants=(TenantSpec(DEFAULT_TENANT, limits),),
        client_keys=(ClientKeySpec("bench", DEFAULT_TENANT, limits=limits, secret=Secret(key)),),
        prices=tuple(_price(name) for name in names) if wanted.limited else (),
    )


def _price(vendor: str) -> PriceSpec:
    if vendor == LOCAL:
        return PriceSpec(vendor, wire.VENDOR_MODEL, input=Decimal("0.05"), output=Decimal("0.10"))
    return PriceSpec(
        vendor,
        wire.VENDOR_MODEL,
        input=Decimal("0.15"),
        cached_input=Decimal("0.075"),
        output=Decimal("0.60"),
    )
