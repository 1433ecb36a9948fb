"""A node that is well, of which a test makes one thing ill: a recorded machine, and on loopback whom it talks to.

Engines are the fakes of all tests of the agent, the gateway is the real node door over memory, the filter is the
real one. A fault changes the `World` before it stands, or once its ports are known (`late`).
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from aiohttp import web

from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.domain.ids import NodeName
from ktms.node.doctor.ask_tunnel import Edge
from ktms.node.doctor.facts import Facts
from ktms.node.doctor.gather import Asked, gather
from ktms.node.filter.door import Filter
from ktms.node.home import NodeHome
from ktms.node.settings import NodeSettings, Tunnel
from ktms.node.settings_file import settings_text
from ktms.node.state import EngineState, ModelState, NodeState
from tests.api.node.yard import EPOCH_MS, OPERATOR, Yard, yard_of
from tests.e2e.ports import any_port
from tests.node.fakes.ollama import FakeOllama, OllamaModel
from tests.node.fakes.serving import FakeEngine, serving
from tests.node.nodes import TOKEN, settings
from tests.node.recordings import AGENT_PID, RecordedMachine

MODEL = "qwen3:4b"
CLOUDFLARED = "/home/anna/.ktms/programs/cloudflared tunnel --no-autoupdate --protocol {protocol} run"


class Answering(FakeEngine):
    """A web server that says the same to everybody."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__()
        self._status, self._text = status, text

    def routes(self) -> list[web.RouteDef]:
        return [web.route("*", "/{path:.*}", self._say)]

    async def _say(self, _: web.Request) -> web.Response:
        return web.Response(status=self._status, text=self._text)


@dataclass
class TunnelWorld:
    """The tunnel. `connections` None: no cloudflared runs; `leads_to` None: to the filter."""

    connections: int | None = 4
    protocol: str = "auto"
    udp: bool = True
    tcp: bool = True
    leads_to: FakeEngine | None = None


def ollama() -> FakeOllama:
    """An Ollama with one model, wholly in the memory of the GPU."""
    return FakeOllama(OllamaModel(MODEL, place="memory", window=8192))


@dataclass
class World:
    """All of it, as it is before it stands.

    `engine` None: nobody listens; `permits`: what the node key is good for. `yard` and `key` come when it stands.
    """

    machine: RecordedMachine
    log: str = ""
    engine: FakeEngine | None = field(default_factory=ollama)
    members: dict[str, object] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    is_installed: bool = True
    filter_listens: bool = True
    filter_tls: ssl.SSLContext | None = None
    gateway: str | None = None
    permits: tuple[str, ...] = ()
    is_revoked: bool = False
    has_later: bool = False
    reason: str | None = None
    ahead_s: float = 0.0
    tunnel: TunnelWorld | None = None
    late: list[Callable[["World", NodeSettings], None]] = field(default_factory=list)
    yard: Yard | None = None
    key: str = ""

    @property
    def ollama(self) -> FakeOllama:
        assert isinstance(self.engine, FakeOllama)
        return self.engine

    @property
    def model(self) -> OllamaModel:
        """The one model of the Ollama."""
        return self.ollama.models[0]

    def runs(self, line: str) -> None:
        """Add a process."""
        words = ("ps", "-axww", "-o", "pid=,ppid=,args=")
        self.machine.answers(*words, out=f"{self.machine.ran[words].out}{line}\n")


@asynccontextmanager
async def standing(world: World, folder: Path) -> AsyncIterator[Asked]:
    """Have it stand, and give whom the doctor asks."""
    async with AsyncExitStack() as stack:
        yard = await stack.enter_async_context(yard_of(AddressRules(loopback_nodes=True)))
        yard.dialler.reason = world.reason
        world.key = await yard.issue("mac-1", *world.permits)
        port = any_port()
        if world.engine is not None:
            await stack.enter_async_context(serving(world.engine))
        members: dict[str, object] = {
            "engine_url": f"http://127.0.0.1:{any_port()}" if world.engine is None else world.engine.url,
            "node_key": Secret(world.key),
            "listen_host": "0.0.0.0",
            "listen_port": port,
            "models": (MODEL,),
        }
        metrics, edge = any_port(), Edge("127.0.0.1", any_port())
        if world.tunnel is not None:
            members |= await _tunnel(world, world.tunnel, port, metrics, edge, stack)
        of = _settings(world, {"gateway": f"http://127.0.0.1:{yard.port}"} | members)
        await _filter(world, of, port, stack)
        await _agent(world, of, yard)
        world.yard = yard
        for late in world.late:
            late(world, of)
        home = NodeHome(folder / ".ktms")
        _write(world, of, home)
        yield Asked(home, world.machine, lambda: yard.clock.wall() + world.ahead_s, metrics, edge)


def _settings(world: World, members: dict[str, object]) -> NodeSettings:
    """Fill in ports, which a fault cannot know: `https` is the right URL with the wrong scheme."""
    given = dict(world.members)
    engine_url = str(members["engine_url"])
    if given.get("engine_url") == "https":
        given["engine_url"] = engine_url.replace("http:", "https:")
    if given.get("public_url") == "https":
        given["public_url"] = f"https://127.0.0.1:{members['listen_port']}"
    if given.get("gateway") == "engine":
        given["gateway"] = engine_url
    if world.gateway is not None:
        given["gateway"] = world.gateway
    made = members | given
    return settings(str(made.pop("gateway")), **made)


async def facts_of(world: World, folder: Path) -> Facts:
    """Give what the doctor gathers of it."""
    async with standing(world, folder) as asked:
        return await gather(asked)


async def _filter(world: World, of: NodeSettings, port: int, stack: AsyncExitStack) -> None:
    if not world.filter_listens:
        return
    of_filter = settings(of.gateway, listen_host="127.0.0.1", listen_port=port)
    model = ModelState(MODEL, 8192, loaded=True)
    state = NodeState(EngineState(EngineKind.OLLAMA, answers=True, slots=4, models=(model,)))
    made = Filter(of_filter, state, now=lambda: 0.0, tls=world.filter_tls)
    await made.start()
    stack.push_async_callback(made.stop)


async def _agent(world: World, of: NodeSettings, yard: Yard) -> None:
    """Let the gateway have heard of this node, and of what came after."""
    said = {**_status(of, world)["said"], "token": TOKEN}
    key = of.node_key.reveal()
    await yard.announce(key, **said)
    if world.has_later:
        await yard.announce(key, **(said | {"epoch": EPOCH_MS + 500}))
    if world.is_revoked:
        await yard.nodes.revoke(NodeName("mac-1"), actor=OPERATOR)


async def _tunnel(
    world: World, tunnel: TunnelWorld, port: int, metrics: int, edge: Edge, stack: AsyncExitStack
) -> dict[str, object]:
    target = f"http://127.0.0.1:{port}"
    if tunnel.leads_to is not None:
        target = (await stack.enter_async_context(serving(tunnel.leads_to))).url
    if tunnel.connections is not None:
        page = Answering(200, json.dumps({"readyConnections": tunnel.connections, "status": 200}))
        page.url = f"http://127.0.0.1:{metrics}"
        await stack.enter_async_context(serving(page))
        world.runs(f" 4300  {AGENT_PID} {CLOUDFLARED.format(protocol=tunnel.protocol)}")
    if tunnel.udp:
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            _Quic, local_addr=(edge.host, edge.port)
        )
        stack.callback(transport.close)
    if tunnel.tcp:
        server = await asyncio.start_server(lambda _, writer: writer.close(), edge.host, edge.port)
        stack.callback(server.close)
    world.status.setdefault("url", target)
    return {"tunnel": Tunnel.NAMED, "tunnel_token_file": "/home/anna/.ktms/tunnel", "public_url": target}


class _Quic(asyncio.DatagramProtocol):
    """Answers long packets as a QUIC server answers a version it does not have."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)  # not by class before Python 3.12

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        if len(data) >= 1200 and data[0] & 0x80:
            self._transport.sendto(b"\x80\0\0\0\0\0\x08ktmsdoct\0\0\0\x01", addr)


def _write(world: World, of: NodeSettings, home: NodeHome) -> None:
    if world.log:
        world.machine.files[home.log] = world.log
    home.folder.mkdir(mode=0o700)
    if world.is_installed:
        home.settings.touch(mode=0o600)
        home.settings.write_text(settings_text(of))
    home.status.write_text(json.dumps(_status(of, world)))


def _status(of: NodeSettings, world: World) -> dict[str, Any]:
    """Give what the agent of a node that is well has written."""
    url = world.status.get("url", "http://10.0.0.7:8790")
    said = {
        "url": url,
        "engine": "agent",
        "engine_version": "ollama 0.33.0",
        "epoch": EPOCH_MS,
        "draining": False,
        "slots": 4,
        "models": [{"name": MODEL, "context_window": 8192, "loaded": True}],
    }
    return {"pid": AGENT_PID, "state": "serving", "url": url, "said": said} | world.status
