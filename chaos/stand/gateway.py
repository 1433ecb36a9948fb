"""One replica: `ktms serve` as a process, asked over HTTP how it does, and the commands of its operator.

What is done to it is a fact of the run: it is up once it listens, it has crashed just before it is killed, it is
leaving from the signal on. Not here: what its log says (`log_lines.py`), what it holds (`looks.py`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from chaos.stand.process import ENDS_WITHIN_S, KTMS, Done, Process, ProcessFailed, environment, run
from chaos.stand.run_journal import RunJournal
from sim.journal.fact import Value

ASK_S = 2.0
"""A gateway that has not said how it does by then says nothing."""

WORLD = "world"
"""The host that faults come from."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a replica lives: its name, its ports on loopback, its folder, all that its environment says.

    `command` is the product's own, or one that goes without a guard.
    """

    name: str
    port: int
    admin_port: int
    home: Path
    variables: Mapping[str, str]
    owner: str
    command: tuple[str | Path, ...] = (KTMS,)


class Gateway:
    """A replica. Its process may be ended and started again; its ports stay."""

    def __init__(self, place: Place, journal: RunJournal, session: aiohttp.ClientSession) -> None:
        self.name = place.name
        self.port = place.port
        self.url = f"http://127.0.0.1:{place.port}"
        self.admin_addr = f"127.0.0.1:{place.admin_port}"
        self._place = place
        self._journal = journal
        self._session = session
        self._frozen_at: float | None = None
        self._signals = 0
        variables = {
            **place.variables,
            "KTMS_HTTP_ADDR": f"127.0.0.1:{place.port}",
            "KTMS_ADMIN_ADDR": self.admin_addr,
        }
        words = (*place.command, "serve")
        self.process = Process(place.name, words, environment(place.home, variables), place.home)

    async def start(self) -> None:
        """Start a process, and wait until it listens.

        Raises:
            ProcessFailed: it ended, or it does not listen in time.
        """
        self._signals = 0
        await self.process.start()
        await self.process.wait_ready(self.alive)
        self._note("host_up")

    async def until_ready(self) -> None:
        """Wait until it calls itself ready.

        Raises:
            ProcessFailed: it ended, or it is not ready in time.
        """
        await self.process.wait_ready(self._is_ready)

    async def alive(self) -> bool:
        """Whether it listens and answers."""
        return await self.page("/healthz") is not None

    async def readyz(self) -> tuple[int, dict[str, object]]:
        """Give the status of /readyz and what it says; 0 and nothing where nobody answers."""
        page = await self.page("/readyz")
        if page is None:
            return 0, {}
        said = json.loads(page[1])
        return page[0], said if isinstance(said, dict) else {}

    async def metric(self, name: str, **labels: str) -> float | None:
        """Give the sum of the series of this name that have these labels; None where there is none."""
        page = await self.page("/metrics")
        return None if page is None else metric_in(page[1], name, **labels)

    async def page(self, path: str) -> tuple[int, str] | None:
        """GET a page: status and text; None where nobody answers in time."""
        try:
            async with self._session.get(self.url + path, timeout=aiohttp.ClientTimeout(total=ASK_S)) as response:
                return response.status, await response.text()
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None

    async def ktms(self, *words: str | Path) -> Done:
        """Run a command as the first owner."""
        variables = {"KTMS_ADMIN_ADDR": self.admin_addr, "KTMS_ADMIN_KEY": self._place.owner}
        return await run((KTMS, *words), environment(self._place.home, variables), self._place.home)

    async def term(self) -> int:
        """Ask it to leave, wait until it has, and give its exit code.

        Raises:
            ProcessFailed: see `has_left`.
        """
        self.ask_to_leave()
        return await self.has_left()

    def ask_to_leave(self) -> None:
        """Send SIGTERM; the second one of a process ends it at once."""
        self._signals += 1
        if self._signals == 1:
            self._note("drain_begun")
        self.process.ask_to_leave()

    async def has_left(self, within_s: float = ENDS_WITHIN_S) -> int:
        """Wait until it has left as it was asked to, and give its exit code.

        Raises:
            ProcessFailed: it does not leave, or not in order although it was asked once.
        """
        code = await self.process.ended(within_s)
        if code != 0 and self._signals == 1:
            raise ProcessFailed(f"{self.name} left with {code}: {self.process.said}")
        self._note("drain_over")
        self._note("host_stopped", clean=code == 0)
        return code

    async def kill(self) -> None:
        """End it without a word; harmless when it does not run."""
        if self.process.running:
            self._note("host_crashed")
            await self.process.kill()

    def freeze(self) -> None:
        """Let it stand still."""
        self._frozen_at = self._journal.now_s
        self.process.freeze()

    def thaw(self) -> None:
        """Let it go on; only now is it known for how long it stood still."""
        self.process.thaw()
        if self._frozen_at is not None:
            at, self._frozen_at = self._frozen_at, None
            lasted_s = self._journal.now_s - at
            members: dict[str, Value] = {"fault": "lag", "target": self.name, "on": True, "amount": lasted_s}
            self._journal.note_at(at, "fault", WORLD, **members)

    def check(self) -> None:
        """See that it has not ended by itself.

        Raises:
            ProcessFailed: it has.
        """
        process = self.process
        if not process.running and not process.expected:
            raise ProcessFailed(f"{self.name} ended by itself with {process.code}: {process.said}")

    async def _is_ready(self) -> bool:
        status, _ = await self.readyz()
        return status == 200

    def _note(self, kind: str, **members: bool) -> None:
        self._journal.note(kind, self.name, **members)


def metric_in(text: str, name: str, **labels: str) -> float | None:
    """Sum the series of a Prometheus text that have this name and at least these labels; None for none."""
    wanted = {f'{label}="{value}"' for label, value in labels.items()}
    found = None
    for line in text.splitlines():
        series, _, value = line.rpartition(" ")
        of, _, rest = series.partition("{")
        if of == name and wanted <= set(rest.removesuffix("}").split(",")):
            found = float(value) + (found or 0.0)
    return found
