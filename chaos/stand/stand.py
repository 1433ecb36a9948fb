"""The stand: three gateways with their ledger, on a real Postgres and Redis, before vendors and engines of ours.

    async with stand(services, proxies, journal, StandSettings()) as running:
        await running.ways["redis"].hang()

Everything that is started is ended in the same block. What happens to the parts is noted in the journal. Not here:
who asks the gateways (`chaos/traffic`), what is broken when (`chaos/experiments`).
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from chaos.services.free_port import free_port
from chaos.services.service import Address, Services
from chaos.stand import settings as parts
from chaos.stand.agents import Agent
from chaos.stand.answering import Pace
from chaos.stand.asked import CANARY
from chaos.stand.catalogue import catalogue, vendor_key, write_catalogue
from chaos.stand.client_keys import ClientKeys, make_keys
from chaos.stand.databases import databases
from chaos.stand.gateway import WORLD, Gateway
from chaos.stand.key_form import new_admin_key, new_keyring
from chaos.stand.ledger import Ledger
from chaos.stand.log_lines import note_log
from chaos.stand.looks import Looks
from chaos.stand.process import ProcessFailed
from chaos.stand.run_journal import RunJournal
from chaos.stand.settings import StandSettings
from chaos.stand.slots import Slots
from chaos.stand.starting import Starting, declare, start_all
from chaos.stand.target import Manner
from chaos.stand.targets import Targets, targets
from chaos.stand.ways import MakesProxies, Ways

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Stand:
    """All of it, while it runs."""

    settings: StandSettings
    services: Services
    journal: RunJournal
    gateways: tuple[Gateway, ...]
    ledger: Ledger
    targets: Targets
    ways: Ways
    slots: Slots
    keys: ClientKeys
    ledger_url: str
    database_url: str
    agents: dict[str, Agent]
    _looks: Looks

    def gateway(self, name: str) -> Gateway:
        """Give a replica by its name."""
        return next(gateway for gateway in self.gateways if gateway.name == name)

    def phase(self, name: str) -> None:
        """Note that another part of the run begins: faults, heal, over."""
        self.journal.note("phase", WORLD, name=name)

    def fault(self, kind: str, target: str = "", *, on: bool, amount: float = 0.0) -> None:
        """Note that a fault begins or ends; to do it is up to whoever calls."""
        self.journal.note("fault", WORLD, fault=kind, target=target, on=on, amount=amount)

    def calm(self) -> None:
        """Note that from here on everything must work and come to rest: the phase `quiet`."""
        self._looks.end()
        self.phase("quiet")

    async def heal(self) -> None:
        """End all that the stand itself can break, and let everything run again that was ended.

        Raises:
            ProcessFailed: something had ended by itself, or does not start.
        """
        self.check()
        await self.ways.heal()
        for target in self.targets.values():
            await target.heal()
        self.ledger.process.thaw()
        if not self.ledger.process.running:
            await self.ledger.start()
        for gateway in self.gateways:
            gateway.thaw()
            if not gateway.process.running:
                await gateway.start()
        for gateway in self.gateways:
            await gateway.until_ready()

    async def at_rest(self) -> None:
        """Wait until nothing is under way, for so long as it may take, and note what is seen then."""
        await self._looks.at_rest()

    async def end(self) -> None:
        """Let all gateways leave as an operator does, and see that none had ended by itself.

        Raises:
            ProcessFailed: one had, or does not leave.
        """
        self.check()
        leaving = [gateway for gateway in self.gateways if gateway.process.running]
        for gateway in leaving:
            gateway.ask_to_leave()
        for gateway in leaving:
            await gateway.has_left()

    def check(self) -> None:
        """See that no process has ended by itself.

        Raises:
            ProcessFailed: one has.
        """
        for gateway in self.gateways:
            gateway.check()
        process = self.ledger.process
        if not process.running and not process.expected:
            raise ProcessFailed(f"the ledger ended by itself with {process.code}: {process.said}")

    def note_logs(self, batch_lines: frozenset[str] = frozenset()) -> int:
        """Note what all gateways have logged so far, once; gives the number of lines."""
        return sum(
            note_log(self.journal, gateway.name, gateway.process.logs, batch_lines) for gateway in self.gateways
        )


@asynccontextmanager
async def stand(
    services: Services, proxies: MakesProxies, journal: RunJournal, settings: StandSettings
) -> AsyncIterator[Stand]:
    """Start everything, and end it with the block.

    Raises:
        ProcessFailed: a process does not start, or a command fails; says what it said.
    """
    async with AsyncExitStack() as opened:
        folder = Path(opened.enter_context(_folder()))
        session = await opened.enter_async_context(_session())
        names = await opened.enter_async_context(databases(services.postgres))
        slots = Slots(services.redis.url(), settings.nodes)
        opened.push_async_callback(slots.close)
        await slots.make_old()
        answering = await opened.enter_async_context(targets(_manners(settings), journal))
        ways, ledger_port = Ways(settings.apart, settings.gateway_names), free_port()
        await _lead(ways, services, answering, ledger_port, proxies, settings)
        ledger_url, database_url = services.postgres.url(names.ledger), services.postgres.url(names.gateway)
        ledger = Ledger(ledger_port, folder, ledger_url)
        opened.push_async_callback(ledger.process.close)
        starting = Starting(settings, services, ways, names, folder, new_admin_key(), new_keyring())
        gateways = tuple(Gateway(starting.place(name), journal, session) for name in settings.gateway_names)
        for gateway in gateways:
            opened.push_async_callback(gateway.process.close)
        _tell(journal, settings)
        await start_all(gateways, ledger, starting)
        declared = catalogue(settings, ways.listens(_addresses(answering)))
        await declare(gateways[0], write_catalogue(folder / "gateway.yaml", declared))
        keys = await make_keys(gateways[0], settings.keys, journal)
        agents = await _joined(opened, settings, folder, gateways, answering)
        looks = Looks(gateways, answering, slots, lambda: _target_ports(ways, answering), journal)
        running = Stand(
            settings,
            services,
            journal,
            gateways,
            ledger,
            answering,
            ways,
            slots,
            keys,
            ledger_url,
            database_url,
            agents,
            looks,
        )
        async with _running(looks):
            yield running


@contextmanager
def _folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="ktms-chaos-", ignore_cleanup_errors=True) as folder:
        yield folder


def _session() -> aiohttp.ClientSession:
    """Make the way to ask gateways how they do: a connection each time, so that none stays open."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True))


@asynccontextmanager
async def _running(looks: Looks) -> AsyncIterator[None]:
    """Look while the block runs; an error of the block comes out as it is, and not in a group."""
    try:
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(looks.run())
            try:
                yield
            finally:
                looking.cancel()
    except BaseExceptionGroup as failed:
        first, *others = failed.exceptions
        if others:
            raise
        raise first from first.__cause__


def _manners(settings: StandSettings) -> list[Manner]:
    pace, model = Pace(settings.first_token_s, settings.token_s), parts.VENDOR_MODEL
    nodes = [
        Manner(name, cloud=False, model=model, window=parts.WINDOW_TOKENS, pace=pace) for name in settings.nodes
    ]
    clouds = [Manner(name, cloud=True, model=model, window=None, pace=pace) for name in settings.clouds]
    return nodes + clouds


def _addresses(answering: Targets) -> dict[str, Address]:
    return {name: Address(LOOPBACK, target.port) for name, target in answering.items()}


def _target_ports(ways: Ways, answering: Targets) -> frozenset[int]:
    return frozenset(at.port for at in ways.listens(_addresses(answering)).values())


async def _joined(
    opened: AsyncExitStack,
    settings: StandSettings,
    folder: Path,
    gateways: tuple[Gateway, ...],
    answering: Targets,
) -> dict[str, Agent]:
    """Let nodes join that have an agent, once all gateways are ready."""
    made: dict[str, Agent] = {}
    for gateway in gateways:
        await gateway.until_ready()
    for name in settings.agents:
        agent = Agent(name, folder, gateways[0], f"http://{LOOPBACK}:{answering[name].port}", settings.slots)
        opened.push_async_callback(agent.process.close)
        await agent.join()
        made[name] = agent
    return made


async def _lead(
    ways: Ways,
    services: Services,
    answering: Targets,
    ledger_port: int,
    proxies: MakesProxies,
    settings: StandSettings,
) -> None:
    """Put a proxy before everything that experiments break."""
    upstreams = {
        parts.POSTGRES: services.postgres.address,
        parts.REDIS: services.redis.address,
        parts.LEDGER: Address(LOOPBACK, ledger_port),
        **({parts.NEWS: services.postgres.address} if settings.news_apart else {}),
        **(_addresses(answering) if settings.targets_behind_proxies else {}),
    }
    for name, upstream in upstreams.items():
        await ways.lead_to(name, upstream, proxies)


def _tell(journal: RunJournal, settings: StandSettings) -> None:
    """Note what judges must know of the run, and what must be seen nowhere."""
    journal.note("world", WORLD, seed="", scenario="chaos", level="real", replicas=settings.gateways)
    for name, value in settings.told().items():
        journal.note("setting", WORLD, name=name, value=value)
    for cloud in settings.clouds:
        for nth in range(settings.keys_of(cloud)):
            journal.note("secret", WORLD, what="vendor_key", value=vendor_key(cloud, nth))
    journal.note("secret", WORLD, what="prompt", value=CANARY)
