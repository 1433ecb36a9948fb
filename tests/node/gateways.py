"""A gateway as an agent sees it: it takes announcements, and answers as a test says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass
class GatewayAtHand:
    """Answers with `status` and `answer`; `heard` holds what was announced and with which key, in order.

    `hold` keeps its answers back until it is set.
    """

    status: int = 200
    answer: dict[str, Any] = field(default_factory=lambda: {"accepted": ["qwen3:4b"], "announce_every_s": 30})
    headers: dict[str, str] = field(default_factory=dict)
    heard: "asyncio.Queue[tuple[dict[str, Any], str, str]]" = field(default_factory=asyncio.Queue)
    url: str = ""
    hold: asyncio.Event | None = None

    async def take(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.heard.put_nowait((body, request.headers.get("Authorization", ""), request.query_string))
        if self.hold is not None:
            await self.hold.wait()
        return web.json_response(self.answer, status=self.status, headers=self.headers)

    async def next(self) -> dict[str, Any]:
        """Give the next announcement that comes."""
        body, _, _ = await self.heard.get()
        return body


@asynccontextmanager
async def gateway_at_hand() -> AsyncIterator[GatewayAtHand]:
    gateway = GatewayAtHand()
    app = web.Application()
    app.router.add_put("/node/v1/announce", gateway.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    gateway.url = site.name
    try:
        yield gateway
    finally:
        await runner.cleanup()
