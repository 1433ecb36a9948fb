"""The accounting service as a process: `ktms ledger`, always on the same port.

It has a database of its own, which it reaches past the proxy of the gateways' database: who breaks the one does
not break the other. Not here: what it has stored (`traffic/usage_rows.py`).
"""

from pathlib import Path

from chaos.stand.process import KTMS, Process, environment

STORES = '"event":"database_answers"'
"""What it logs once it can store events."""


class Ledger:
    """The service."""

    def __init__(self, port: int, home: Path, database_url: str) -> None:
        self.port = port
        own = {"KTMS_DATABASE_URL": database_url, "KTMS_LEDGER_ADDR": f"127.0.0.1:{port}"}
        self.process = Process("ledger", (KTMS, "ledger"), environment(home, own), home)

    async def start(self) -> None:
        """Start it, and wait until it stores events.

        Raises:
            ProcessFailed: it ended, or does not in time.
        """
        await self.process.start()
        await self.process.wait_ready(self._stores)

    async def _stores(self) -> bool:
        return STORES in self.process.logs[-1].read_text(errors="replace")
