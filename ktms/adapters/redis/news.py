"""News of freed slots, on a connection of their own: who subscribes can ask nothing else there.

A dead peer behind a firewall says nothing at all, so a silent one is asked for a sign of life.
"""

from collections.abc import AsyncGenerator

from ktms.adapters.redis.keys import FREED
from ktms.adapters.redis.line import Line, LineBroken
from ktms.adapters.redis.link import RedisLink
from ktms.domain.ids import NodeName
from ktms.ports.lease_store import LeaseStoreAway

SILENCE_MAX_S = 10.0
"""After this much silence the server is asked for a sign of life; a poll covers the time in between."""


async def hear_freed(link: RedisLink, silence_max_s: float = SILENCE_MAX_S) -> AsyncGenerator[NodeName, None]:
    """Yield the node of each slot given back.

    Raises:
        LeaseStoreAway: the connection could not be made, or is lost; whoever hears pauses before it asks again.
    """
    if link.silenced:
        raise LeaseStoreAway("silenced")
    line = Line(link.url, link.timeout_s)
    try:
        await line.connect()
        await line.exchange([("SUBSCRIBE", FREED)])
        while True:
            message = await line.next(silence_max_s)
            if message is None:
                await line.send(("PING",))
                message = await line.expect()
            if message[0] == b"message":
                yield NodeName(message[2].decode())
    except LineBroken as error:
        raise LeaseStoreAway(error.kind) from error
    finally:
        await line.drop()
