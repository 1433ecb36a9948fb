"""aiohttp's server and client with nothing between: `python -m tests.perf.bare_aiohttp UPSTREAM_PORT`.

What a gateway written the usual way would cost before it did anything of its own.
"""

import sys

import aiohttp
import uvloop
from aiohttp import web

from tests.perf import wire
from tests.perf.child import run_until_told


class Proxy:
    """Reads a request whole, asks upstream, passes the answer on: whole, or piece by piece when it is a stream."""

    def __init__(self, upstream_port: int) -> None:
        self._url = f"http://127.0.0.1:{upstream_port}{wire.PATH}"
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Proxy one request."""
        headers = {"Content-Type": "application/json", "Authorization": "Bearer upstream"}
        async with self._session.post(self._url, data=await request.read(), headers=headers) as upstream:
            if upstream.content_type != "text/event-stream":
                body = await upstream.read()
                return web.Response(body=body, status=upstream.status, content_type=upstream.content_type)
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            async for piece in upstream.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response


async def listen() -> int:
    """Open the port."""
    app = web.Application()
    app.router.add_post(wire.PATH, Proxy(int(sys.argv[1])).answer)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
    port: int = runner.addresses[0][1]
    return port


if __name__ == "__main__":
    uvloop.run(run_until_told(listen))
