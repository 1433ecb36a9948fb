"""What a machine downloads to become a node: the installer and the agent, each with its SHA-256.

Rules: they hold no secret, so no key is asked for; they are made at the first question, beside the loop, and then
kept. Not here: what is in them (`app/agent_files.py`).
"""

import asyncio
import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ktms.api.inbound import Inbound
from ktms.api.routes import Handler, Routes
from ktms.api.wire import Dates, Reply, whole

INSTALLER, AGENT = "/node/v1/install.sh", "/node/v1/agent.whl"
"""Where a machine finds them."""


@dataclass(frozen=True, slots=True)
class Download:
    """One file that is served whole."""

    content_type: str
    body: bytes
    digest: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", hashlib.sha256(self.body).digest())


DownloadsOf = Callable[[], Mapping[str, Download]]
"""Makes both files, by the path each is served under; reads disks, so it runs in a thread."""


class Downloads:
    """Serves installer and agent."""

    def __init__(self, made: DownloadsOf, dates: Dates) -> None:
        self._made = made
        self._dates = dates
        self._files: Mapping[str, Download] = {}

    def routes(self) -> Routes:
        """Give the routes of both."""
        return {path: dict.fromkeys(("GET", "HEAD"), self._handler(path)) for path in (INSTALLER, AGENT)}

    def _handler(self, path: str) -> Handler:
        async def serve(request: Inbound) -> Reply:
            if not self._files:
                self._files = await asyncio.to_thread(self._made)
            file = self._files[path]
            told = (
                ("Repr-Digest", f"sha-256=:{base64.b64encode(file.digest).decode()}:"),  # RFC 9530, 3
                ("X-KTMS-SHA256", file.digest.hex()),
                ("Cache-Control", "no-cache"),
            )
            return whole(request, self._dates, 200, file.body, headers=told, content_type=file.content_type)

        return serve
