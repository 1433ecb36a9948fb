"""Whether a Redis can carry leases at all: told at the start in a sentence, not by slots lost at night (FR13)."""

from redis.exceptions import ResponseError

from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.memory_info import read_info
from ktms.ports.lease_store import LeaseStoreAway

MICROS_PER_S = 1_000_000


async def unfit(link: RedisLink) -> str | None:
    """Say what is wrong with this server, None where nothing is known to be.

    A server may evict keys that end by themselves: our leases do not, their members do. One that keeps its
    settings to itself is believed to be fit.

    Raises:
        LeaseStoreAway: it does not answer.
    """
    _, refusal = await _asked(link, "EVAL", "return 1", 0)
    if refusal is not None:
        return f"Redis refuses Lua scripts, which leases need: {refusal}"
    text, _ = await _asked(link, "INFO", "memory")
    settings = read_info(text)
    policy = settings.get("maxmemory_policy", "")
    if policy.startswith("allkeys") and settings.get("maxmemory", "0") != "0":
        return f"Redis evicts leases when its memory is full: set maxmemory-policy to noeviction, it is {policy}"
    return None


async def clock_s(link: RedisLink) -> float:
    """Read the server's clock, by which leases end and budgets have their days; seconds since 1970.

    Raises:
        LeaseStoreAway: it does not answer.
    """
    seconds, micros = await link.ask(("TIME",))
    return int(seconds) + int(micros) / MICROS_PER_S


async def _asked(link: RedisLink, *words: str | int) -> tuple[str, str | None]:
    """Give what was answered and what was refused."""
    try:
        answer = await link.ask(words)
    except LeaseStoreAway as away:
        if isinstance(away.__cause__, ResponseError):
            return "", str(away.__cause__)
        raise
    return answer.decode() if isinstance(answer, bytes) else str(answer), None
