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

BEATS = f"{PREFIX}:quota:beats"
"""A hash of replicas that reserve: when each is dead unless it says otherwise, and under `~` the next sweep."""


def leases_of(node: NodeName) -> str:
    """Name the sorted set of a node's leases."""
    return f"{PREFIX}:leases:{node}"


def waiters_of(model: ModelName) -> str:
    """Name the sorted set of those who wait for a model."""
    return f"{PREFIX}:waiters:{model}"


def report_of(node: NodeName) -> str:
    """Name the last look at a node."""
    return f"{PREFIX}:report:{node}"


def spoken_of(node: NodeName) -> str:
    """Name the last token of a node."""
    return f"{PREFIX}:spoken:{node}"


def duty_key(duty: str) -> str:
    """Name the holder of a duty."""
    return f"{PREFIX}:duty:{duty}"


def account_key(account: str) -> str:
    """Name what is counted of an account."""
    return f"{PREFIX}:quota:of:{account}"


def held_by(holder: str) -> str:
    """Name what a replica has reserved; a script makes this name too."""
    return f"{PREFIX}:quota:held:{holder}"


def swept_of(holder: str) -> str:
    """Name what was given back of a replica that seemed dead; a script makes this name too."""
    return f"{PREFIX}:quota:swept:{holder}"


def answer_key(digest: bytes) -> str:
    """Name a kept answer."""
    return f"{PREFIX}:answer:{digest.hex()}"
