"""The names of keys in Redis. All share one hash tag, so that one script may see many of them in a cluster."""

from ktms.domain.ids import ModelName, NodeName

PREFIX = "{ktms:fleet}"
"""A constant of every installation: two of them need a Redis, or at least a database, each."""

EPOCH = f"{PREFIX}:epoch"
"""Holds the Redis time at which the store was first found empty."""

TRIAL = f"{PREFIX}:trial"
"""Never exists; to delete it is a write that changes nothing, which a replica or a full server refuses."""

FREED = f"{PREFIX}:freed"
"""The channel of nodes whose slot came free."""


def leases_of(node: NodeName) -> str:
    """Name the sorted set of a node's leases."""
    return f"{PREFIX}:leases:{node}"


def waiters_of(model: ModelName) -> str:
    """Name the sorted set of those who wait for a model."""
    return f"{PREFIX}:waiters:{model}"


def report_of(node: NodeName) -> str:
    """Name the newest report about a node."""
    return f"{PREFIX}:report:{node}"


def duty_key(duty: str) -> str:
    """Name the holder of a duty."""
    return f"{PREFIX}:duty:{duty}"
