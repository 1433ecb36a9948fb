"""The gateway as the benchmark's contender: `python -m tests.perf.gateway_process UPSTREAM_PORT`.

Runs the production assembly on uvloop, with one vendor (the mock upstream), one model and one client key. Says its
port, the key, and which parts are switched on, since a figure without them means nothing.
"""

import asyncio
import sys

import uvloop

from tests.perf.child import allow_many_files, commands, say


async def build_gateway(upstream_port: int) -> tuple[int, str, dict[str, str]]:
    """Start the gateway: give its port, a client key, and what is on (part -> "on", "off", or a word).

    To be written together with the assembly: `assemble(ports, snapshot, settings)` and `start`.
    """
    raise NotImplementedError("the gateway is not wired into the benchmark yet")


async def main() -> None:
    """Serve until standard input ends."""
    allow_many_files()
    port, key, switches = await build_gateway(int(sys.argv[1]))
    say(port=port, key=key, switches=switches)
    async for _ in commands():
        pass


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
