"""Children of `tests.perf.node`: a filter alone in its process, and an engine that answers at once.

The engine streams as many pieces as `max_tokens` says, one in each PAUSE_S, or one whole answer.
"""

import asyncio
import json
import sys
import time

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.filter.door import Filter
from ktms.node.settings import NodeSettings
from ktms.node.state import EngineState, ModelState, NodeState
from tests.perf.child import run_until_told

TOKEN = "perf"
MODEL = "qwen3:4b"
PAUSE_S = 0.002
EVENT = (
    b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" word"}}]}\n\n'
)

_WHOLE = json.dumps({"id": "c", "choices": [{"message": {"role": "assistant", "content": "word " * 40}}]}).encode()
_WHOLE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_WHOLE)
_EVENTS_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            asked = json.loads(await reader.readexactly(length))
            if not asked.get("stream"):
                writer.write(_WHOLE_HEAD + _WHOLE)
                continue
            writer.write(_EVENTS_HEAD)
            for _ in range(asked["max_tokens"]):
                writer.write(b"%x\r\n%b\r\n" % (len(EVENT), EVENT))
                await writer.drain()
                await asyncio.sleep(PAUSE_S)
            writer.write(b"0\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _engine() -> int:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    await server.start_serving()
    _KEPT.append(server)
    return int(server.sockets[0].getsockname()[1])


async def _filter(engine_url: str) -> int:
    settings = NodeSettings(
        gateway="http://127.0.0.1:1",
        node_key=Secret("k"),
        node_token=Secret(TOKEN),
        engine=EngineKind.OLLAMA,
        engine_url=engine_url,
        listen_port=0,
    )
    state = NodeState(EngineState(EngineKind.OLLAMA, answers=True, slots=8, models=(ModelState(MODEL),)))
    door = Filter(settings, state, now=time.time)  # noqa: TID251 - a process of its own
    await door.start()
    _KEPT.append(door)
    return door.port


_KEPT: list[object] = []


async def _main(role: str, *arguments: str) -> None:
    await run_until_told(_engine if role == "engine" else lambda: _filter(*arguments))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
