"""A filter with a recording engine behind it, and requests as bytes."""

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.filter.bounds import Bounds
from ktms.node.filter.door import Filter
from ktms.node.filter.target import Route
from ktms.node.settings import NodeSettings
from ktms.node.state import EngineState, ModelState, NodeState
from tests.api.wire_client import Answer, Wire, ask
from tests.node.filter.recording_engine import Asked, RecordingEngine, recording_engine

TOKEN = "node-token-of-the-tests"
BEARER = f"Authorization: Bearer {TOKEN}"
NOW = 1_790_000_000.0
EVENT = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
PINGING = Bounds(ping_s=0.02)
ASKED = {"model": "qwen3:4b", "messages": [{"role": "user", "content": "Hi"}]}


def engine_state(*names: str, kind: EngineKind = EngineKind.OLLAMA) -> EngineState:
    return EngineState(kind, answers=True, slots=4, models=tuple(ModelState(name) for name in names))


def settings_of(
    engine_url: str = "http://127.0.0.1:11434", *, models: tuple[str, ...] = (), slots: int | None = None
) -> NodeSettings:
    return NodeSettings(
        gateway="https://gateway.example",
        node_key=Secret("ktms_node_x"),
        node_token=Secret(TOKEN),
        engine=EngineKind.OLLAMA,
        engine_url=engine_url,
        models=models,
        listen_port=0,
        slots=slots,
    )


@dataclass
class Gate:
    """What a test holds in its hand."""

    filter: Filter
    state: NodeState
    engine: RecordingEngine
    served: list[tuple[Route | None, int]] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.filter.port

    async def refuses(self, sent: bytes) -> Answer:
        """Send what must be refused without a byte to the engine."""
        answer = await ask(self.port, sent)
        assert self.engine.heads == []
        return answer


@asynccontextmanager
async def gate_of(
    *names: str, bounds: Bounds | None = None, models: tuple[str, ...] = (), tls: ssl.SSLContext | None = None
) -> AsyncIterator[Gate]:
    """Open a filter on loopback; `names` are the engine's models."""
    async with recording_engine() as engine:
        state = NodeState(engine_state(*(names or ("qwen3:4b",))))
        served: list[tuple[Route | None, int]] = []
        settings = settings_of(engine.url, models=models)
        door = Filter(
            settings,
            state,
            now=lambda: NOW,
            tls=tls,
            bounds=bounds,
            served=lambda route, status: served.append((route, status)),
        )
        await door.start()
        try:
            yield Gate(door, state, engine, served)
        finally:
            await door.stop()


def chat(
    members: object = ASKED, *headers: str, target: str = "/v1/chat/completions", token: str | None = BEARER
) -> bytes:
    """Write a chat request."""
    body = members if isinstance(members, bytes) else json.dumps(members).encode()
    shown = () if token is None else (token,)
    lines = (f"POST {target} HTTP/1.1", "Host: node", *shown, *headers, f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def streamed(**members: object) -> bytes:
    return chat({**ASKED, "stream": True, **members})


def models(*headers: str, line: bytes = b"GET /v1/models HTTP/1.1", token: str | None = BEARER) -> bytes:
    """Write a request for the list of models."""
    lines = ("Host: node", *(() if token is None else (token,)), *headers)
    return line + b"\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n"


async def head_of(wire: Wire) -> bytes:
    """Read the head of an answer."""
    return await wire._reader.readuntil(b"\r\n\r\n")


async def piece_of(wire: Wire) -> bytes:
    """Read one chunk; empty at the proper end."""
    size = int(await wire._reader.readline(), 16)
    return (await wire._reader.readexactly(size + 2))[:-2]


async def begun(gate: Gate, wire: Wire) -> Asked:
    """Begin a stream, up to its head."""
    await wire.send(streamed())
    asked = await gate.engine.asked()
    await asked.begin_events()
    await head_of(wire)
    return asked
