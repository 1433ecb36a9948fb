"""What `INFO memory` says: how full a server is, and what it does when it is full."""

FULL_SHARE = 0.8
"""Beyond it nothing is written that can be done without: the rest is for leases and limits, which cannot."""


def read_info(text: str) -> dict[str, str]:
    """Read the answer to INFO; a server that keeps it to itself says nothing."""
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def is_nearly_full(info: dict[str, str]) -> bool:
    """Whether a server that lets nothing go will soon refuse every write, those of leases and limits too."""
    most, used = info.get("maxmemory", "0"), info.get("used_memory", "0")
    bounded = most.isdecimal() and used.isdecimal() and int(most) > 0
    return bounded and info.get("maxmemory_policy") == "noeviction" and int(used) > FULL_SHARE * int(most)
