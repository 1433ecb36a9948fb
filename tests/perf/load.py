"""The load generator, in a process of its own: `python -m tests.perf.load`, driven by lines of JSON.

Raw protocols on uvloop, so that it costs little next to what it measures; its own cost and lateness are in the
figures of the direct upstream, which every figure is compared with.
"""

import asyncio
from collections import Counter
from typing import Any

import uvloop

from tests.perf import wire
from tests.perf.child import allow_many_files, commands, say
from tests.perf.load_closed import run_closed
from tests.perf.load_streams import drop, open_streams, run_streams


async def obey(command: dict[str, Any], asked: Counter[int]) -> dict[str, object]:
    """Do one command and give its figures; `asked` counts the requests of each port."""
    if command["do"] == "asked":
        return {"asked": asked[command["port"]]}
    told = await _load(command)
    asked[command.get("port", 0)] += next((told[name] for name in COUNTED if name in told), 0)
    return told


COUNTED = ("count", "streams", "open")
"""Under which name a kind of load says how many requests it has sent."""


async def _load(command: dict[str, Any]) -> dict[str, Any]:
    port, key = command.get("port", 0), command.get("key", "")
    ramp_s = command.get("ramp_ms", 0) / 1000
    match command["do"]:
        case "closed":
            request = wire.request(wire.request_body(), key)
            return await run_closed(port, request, command["connections"], command["seconds"])
        case "streams":
            body = wire.stream_body(chunks=command["chunks"], every_ms=command["every_ms"])
            told = await run_streams(port, wire.request(body, key), command["streams"], ramp_s)
            return {**told, "streams": command["streams"]}
        case "open":
            body = wire.stream_body(chunks=1, every_ms=1, hold=True)
            return await open_streams(port, wire.request(body, key), command["streams"], ramp_s)
        case "drop":
            return drop()
        case other:
            raise AssertionError(f"no command {other!r}")


async def main() -> None:
    """Obey until told to stop."""
    allow_many_files()
    say(port=0)
    asked: Counter[int] = Counter()
    async for command in commands():
        say(**await obey(command, asked))


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
