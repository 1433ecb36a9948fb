"""Names and identities that travel through the gateway, each a type of its own.

A `ModelName` handed where a `VendorName` is wanted does not type-check; at run time they are plain strings.
"""

from typing import NewType

ModelName = NewType("ModelName", str)
"""Public name a client asks for: a model or a chain, always the canonical one."""

VendorModel = NewType("VendorModel", str)
"""The name by which a vendor or an engine knows a model."""

VendorName = NewType("VendorName", str)
NodeName = NewType("NodeName", str)
TenantName = NewType("TenantName", str)
Region = NewType("Region", str)

KeyId = NewType("KeyId", str)
"""Public part of a client, node or admin key: 10 base62 characters."""

VendorKeyId = NewType("VendorKeyId", str)
"""Row id (UUID text) of one credential of a vendor; says nothing about the secret."""

RequestId = NewType("RequestId", str)
"""UUIDv7 text of one call; also what clients see in `X-Request-Id`."""

EventId = NewType("EventId", str)
"""UUIDv7 text of one usage event: the ledger removes duplicates by it."""

LeaseId = NewType("LeaseId", str)

LOCAL = VendorName("local")
"""The vendor that stands for all of our own machines."""

CACHE = VendorName("cache")
"""The vendor that stands for answers that were kept and are given again."""


UUID7_RANDOM_BYTES = 10
"""What `uuid7` takes: 74 of these 80 bits end up in the id."""

_MS_MAX = 1 << 48
"""The time of a UUIDv7 has 48 bits: enough until the year 10889."""


def uuid7(wall_ms: int, random10: bytes) -> str:
    """Make a UUIDv7 text: sorts by time, to the millisecond (RFC 9562, 5.7).

    `wall_ms` is milliseconds since 1970 UTC; `random10` is ten bytes fit for secrets.
    """
    assert 0 <= wall_ms < _MS_MAX, wall_ms
    assert len(random10) == UUID7_RANDOM_BYTES, len(random10)
    chance = int.from_bytes(random10, "big")
    high = wall_ms << 80 | 0x7000 << 64 | (chance >> 64 & 0x0FFF) << 64
    text = f"{high | 0x8000_0000_0000_0000 | chance & 0x3FFF_FFFF_FFFF_FFFF:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
