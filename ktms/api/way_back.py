"""The way back to a client that does not read: what it leaves lying is bounded in time.

An answer is in the buffer of its connection until the client takes it. While that buffer is full no other request
of the connection is served, and a client that takes nothing for too long is cut off, or its answers would stay for
good. Not here: streamed answers under way, whose upstream is held back meanwhile (engine).
"""

import asyncio

from ktms.api.inbound import Inbound


async def taken(request: Inbound, stall_s: float) -> None:
    """Wait until the client has taken most of its answer; cut it off when it takes no byte for `stall_s`."""
    while request.protocol.writing_paused and (transport := request.transport) is not None:
        left_bytes = transport.get_write_buffer_size()
        try:
            async with asyncio.timeout(stall_s):
                await request.writer.drain()
        except TimeoutError:
            if transport.get_write_buffer_size() >= left_bytes:
                transport.abort()
                return
