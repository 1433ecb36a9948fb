"""The cloudflared child: started, watched over its metrics port, restarted, ended with the agent.

Rules: the tunnel's token lies in a file and never among the arguments; its address is read from the metrics server
and never from its log; where no connection comes up the way over TCP is tried, since UDP 7844 is blocked in many
places. Not here: which address is announced (`public_url.py`), how the program came here (`install/`).
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from ktms.node.announcer import Told
from ktms.node.plain_json import from_json
from ktms.node.settings import NodeSettings, Tls, Tunnel
from ktms.node.whole_body import whole_body

READY_WITHIN_S = 30.0
"""A tunnel is up in a few seconds; where it is not, the other protocol is tried."""

LOOK_EVERY_S = 1.0
ASK_S = 2.0
PAGE_MAX_BYTES = 64 * 1024
ENDS_WITHIN_S = 5.0
"""The answers that ran through it have had their time before it is asked to end."""

RESTART_S = (1.0, 2.0, 5.0, 15.0, 60.0)
"""After each end in a row; a quick tunnel gets another name each time, so it is not hurried."""

PROTOCOLS = ("auto", "http2")
"""QUIC over UDP where it works; over TCP where it does not."""


@dataclass(frozen=True, slots=True)
class TunnelState:
    """What is known of it. `hostname` None for a named tunnel, and until a quick one has its name."""

    ready: bool = False
    hostname: str | None = None


def tunnel_words(program: str, settings: NodeSettings, metrics_port: int, protocol: str) -> tuple[str, ...]:
    """Give the command line (cloudflared 2026: `--token-file` keeps the token out of it)."""
    words = [
        program,
        "tunnel",
        "--no-autoupdate",
        "--metrics",
        f"127.0.0.1:{metrics_port}",
        "--protocol",
        protocol,
    ]
    words += ["--grace-period", f"{settings.drain_s:.0f}s"]
    if settings.tunnel is Tunnel.NAMED:
        assert settings.tunnel_token_file is not None, "a named tunnel has a token"
        return (*words, "run", "--token-file", settings.tunnel_token_file)
    scheme = "http" if settings.tls is Tls.OFF else "https"
    words += ["--url", f"{scheme}://127.0.0.1:{settings.listen_port}"]
    return tuple(words if settings.tls is Tls.OFF else [*words, "--no-tls-verify"])


class CloudflaredTunnel:
    """One tunnel. `changed` is called whenever its state is another."""

    def __init__(
        self,
        program: str,
        settings: NodeSettings,
        metrics_port: int,
        session: aiohttp.ClientSession,
        *,
        changed: Callable[[], None],
        told: Told,
    ) -> None:
        self._program = program
        self._settings = settings
        self._metrics_port = metrics_port
        self._session = session
        self._changed = changed
        self._told = told
        self.state = TunnelState()

    async def run(self) -> None:
        """Keep it running until cancelled."""
        ends = 0
        while True:
            was_ready = await self._live(PROTOCOLS[ends % len(PROTOCOLS)])
            ends = 0 if was_ready else ends + 1
            self._take(TunnelState())
            await asyncio.sleep(RESTART_S[min(ends, len(RESTART_S) - 1)])

    async def _live(self, protocol: str) -> bool:
        """Run the program once, until it ends or does not come up; whether it was ever ready."""
        words = tunnel_words(self._program, self._settings, self._metrics_port, protocol)
        try:
            async with _child(words) as child:
                return await self._watch(child)
        except OSError as error:
            self._told("error", f"cloudflared cannot be started: {error.strerror or error}")
            return False

    async def _watch(self, child: asyncio.subprocess.Process) -> bool:
        loop = asyncio.get_running_loop()
        due, was_ready = loop.time() + READY_WITHIN_S, False
        while child.returncode is None:
            self._take(await self._look())
            was_ready = was_ready or self.state.ready
            if not was_ready and loop.time() > due:
                self._told("warning", f"the tunnel has no connection after {READY_WITHIN_S:.0f} s")
                return False
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    await child.wait()
            except TimeoutError:
                continue
        self._told("warning", f"cloudflared ended with {child.returncode}")
        return was_ready

    async def _look(self) -> TunnelState:
        ready = await self._page("/ready")
        connections = ready.get("readyConnections", 0)
        name = self.state.hostname
        if self._settings.tunnel is Tunnel.QUICK:
            said = (await self._page("/quicktunnel")).get("hostname")
            name = said if isinstance(said, str) and said else name
        return TunnelState(isinstance(connections, int) and connections > 0, name)

    async def _page(self, path: str) -> dict[str, object]:
        url = f"http://127.0.0.1:{self._metrics_port}{path}"
        try:
            async with self._session.get(url, timeout=aiohttp.ClientTimeout(total=ASK_S)) as answer:
                said = from_json(await whole_body(answer, PAGE_MAX_BYTES))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return {}
        return said if isinstance(said, dict) else {}

    def _take(self, state: TunnelState) -> None:
        if state != self.state:
            if state.ready and not self.state.ready:
                self._told("info", f"the tunnel is up{f' as {state.hostname}' if state.hostname else ''}")
            self.state = state
            self._changed()


@asynccontextmanager
async def _child(words: Sequence[str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a program while the block runs; what it says goes where the agent's own words go."""
    child = await asyncio.create_subprocess_exec(*words, stdin=asyncio.subprocess.DEVNULL)
    try:
        yield child
    finally:
        await asyncio.shield(_end(child))


async def _end(child: asyncio.subprocess.Process) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if child.returncode is None:
            try:
                os.kill(child.pid, number)
                async with asyncio.timeout(ENDS_WITHIN_S):
                    await child.wait()
            except (TimeoutError, ProcessLookupError):
                continue
