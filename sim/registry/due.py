"""When a proof is due: now, or with the part of the product that it is about."""

from enum import StrEnum


class Due(StrEnum):
    """The value is what a table shows."""

    NOW = "now"
    NEVER = "never"  # nothing real is involved, so there is nothing for a chaos test to show
    AGENT = "agent"
    CHAOS = "chaos"
    RELEASES = "releases"
