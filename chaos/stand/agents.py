"""The agents of nodes that join: `ktms-node run` as a process before an engine, announced with a key of its own.

The node has the engine's name, so that judges know whose answer it is. An agent may be ended and started again,
also at another port: then its node has another address. Not here: engines (`target.py`).
"""

import json
import secrets
import sys
from pathlib import Path
from typing import Any

from chaos.services.free_port import free_port
from chaos.stand.gateway import Gateway
from chaos.stand.process import Process, ProcessFailed, environment
from chaos.stand.settings import VENDOR_MODEL

NODE = (sys.executable, "-m", "ktms.node", "run")
"""The agent is its command, as the product is."""

JOINED = "joined"
"""The state of a node that was heard lately."""


class Agent:
    """One agent. `port` is where it listens since its last start."""

    def __init__(self, name: str, folder: Path, gateway: Gateway, engine_url: str, slots: int) -> None:
        self.name = name
        self.port = 0
        self._home = folder / f"agent-{name}"
        self._gateway = gateway
        self._said: dict[str, object] = {
            "gateway": gateway.url,
            "node_token": secrets.token_hex(16),
            "engine": "vllm",
            "engine_url": engine_url,
            "models": [VENDOR_MODEL],
            "slots": slots,
            "drain_s": 30.0,
        }
        words = (*NODE, "--home", self._home)
        self.process = Process(f"agent-{name}", words, environment(folder, {}), folder)

    async def join(self) -> None:
        """Get a key, and start.

        Raises:
            ProcessFailed: there is no key, or the node is not announced in time.
        """
        done = await self._gateway.ktms("admin", "nodes", "create", self.name, "--model", VENDOR_MODEL, "--json")
        if done.code:
            raise ProcessFailed(f"there is no key for {self.name}: {done.err}")
        self._said["node_key"] = json.loads(done.out)["token"]
        self._home.mkdir(mode=0o700)
        await self.start()

    async def start(self) -> None:
        """Start it at a free port, and wait until the gateway has heard it.

        Raises:
            ProcessFailed: it ended, or is not announced in time.
        """
        self.port = free_port()
        settings = self._home / "node.json"
        settings.touch(mode=0o600)
        settings.write_text(json.dumps(self._said | {"listen_port": self.port}))
        await self.process.start()
        await self.process.wait_ready(self._is_heard)

    async def leave(self) -> int:
        """Ask it to leave, wait until it has, and give its exit code.

        Raises:
            ProcessFailed: it does not leave.
        """
        self.process.ask_to_leave()
        return await self.process.ended(LEAVES_WITHIN_S)

    async def _is_heard(self) -> bool:
        done = await self._gateway.ktms("admin", "nodes", "list", "--json")
        if done.code:
            return False
        return any(self._is_it(node) for node in json.loads(done.out))

    def _is_it(self, node: dict[str, Any]) -> bool:
        if (node["name"], node["state"]) != (self.name, JOINED):
            return False
        return str(node["announced"]["url"]).endswith(f":{self.port}")


LEAVES_WITHIN_S = 40.0
"""Its running answers get 30 s."""
