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
