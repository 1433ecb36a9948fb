"""Whether a service answers, asked the way its users ask, and waiting until it does.

An open port proves nothing: a Postgres that recovers and a Redis that loads take connections and refuse to serve.
"""

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import asyncpg
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from chaos.services.service import Address, ServiceFailed

ASK_TIMEOUT_S = 2.0
"""One question; a service of this machine answers within milliseconds once it serves."""

POLL_S = 0.02
"""Between two questions."""


async def postgres_answers(url: str) -> bool:
    """Whether a query is answered."""
    try:
        async with asyncio.timeout(ASK_TIMEOUT_S):
            connection = await asyncpg.connect(url)
            try:
                return bool(await connection.fetchval("select 1") == 1)
            finally:
                connection.terminate()
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False


async def redis_answers(url: str) -> bool:
    """Whether a ping is answered, and not by an error."""
    client = redis.asyncio.Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=ASK_TIMEOUT_S)
    try:
        async with asyncio.timeout(ASK_TIMEOUT_S):
            return bool(await client.ping())
    except (OSError, TimeoutError, RedisError):
        return False
    finally:
        await client.aclose()


async def toxiproxy_answers(address: Address) -> bool:
    """Whether it tells its version."""
    timeout = aiohttp.ClientTimeout(total=ASK_TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"http://{address}/version") as answer,
        ):
            return answer.status == 200
    except (OSError, TimeoutError, aiohttp.ClientError):
        return False


async def until_it_answers(
    name: str,
    ask: Callable[[], Awaitable[bool]],
    *,
    within_s: float,
    alive: Callable[[], bool] = lambda: True,
    last_words: Callable[[], str] = lambda: "",
) -> None:
    """Ask again and again until it answers.

    Raises:
        ServiceFailed: it does not in time, or has ended.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while not await ask():
        if not alive():
            raise ServiceFailed(f"{name} has ended: {last_words()}")
        if loop.time() > deadline:
            raise ServiceFailed(f"{name} does not answer within {within_s:.0f} s: {last_words()}".rstrip(": "))
        await asyncio.sleep(POLL_S)
