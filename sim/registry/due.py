"""When a proof is due: now, or with the part of the product that it is about."""

from enum import StrEnum


class Due(StrEnum):
    """The value is what a table shows."""

    NOW = "now"
    NEVER = (
        "never"  # nothing real is involved, or nothing of ours can run in a world: the other proof stands alone
    )
    CHAOS = "chaos"
    RELEASES = "releases"
