"""The agent: filter, watcher, announcer and tunnel as one process, from its start to the last answer.

Order at the start: the port opens, the engine is looked at, then the gateway is told. Order at the end: the
gateway is told first, then nothing new is taken, running answers get their time, the port closes. Who is
superseded does the same, with nothing to tell. A second signal ends it at once. Not here: what each part does,
reading settings (`commands/run.py`).
"""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import aiohttp

from ktms.node.announcer import Announcer, Superseded, Told
from ktms.node.certificate import fingerprint, server_context
from ktms.node.engines.all_of_them import engine_of
from ktms.node.engines.look import Engine
from ktms.node.engines.watcher import Watcher
from ktms.node.far import far_session
from ktms.node.filter.door import Filter
from ktms.node.home import NodeHome
from ktms.node.machine import Machine
from ktms.node.own_address import own_address_towards
from ktms.node.public_url import place_of
from ktms.node.said import Place
from ktms.node.service.sleep import keep_awake, locks
from ktms.node.settings import NodeSettings, Tls, Tunnel
from ktms.node.state import EngineState, NodeState
from ktms.node.status import Known, status_of, write_status
from ktms.node.tunnel import CloudflaredTunnel, TunnelState
from ktms.node.warming import warm_named

EXIT_OK, EXIT_KILLED, EXIT_SUPERSEDED = 0, 1, 3

LAST_WORD_S = 5.0
"""For the announcement that this node leaves: a gateway that does not hear it finds out by itself."""

ADDRESS_EVERY_S = 10.0
"""A machine that came to another network is announced anew before the gateway has given it up."""

METRICS_PORT = 20241
"""The first that cloudflared takes by itself."""


@dataclass(frozen=True, slots=True)
class Means:
    """What an agent is made with. `now` gives seconds since 1970; `cloudflared` is the program of the tunnel.

    `keeps_awake`: the machine is not to sleep while it runs. `address_towards` gives its own address on the way to
    a gateway, and may take its time; it is asked again and again.
    """

    settings: NodeSettings
    home: NodeHome
    machine: Machine
    told: Told
    now: Callable[[], float]
    version: str
    cloudflared: str = "cloudflared"
    metrics_port: int = METRICS_PORT
    keeps_awake: bool = False
    address_towards: Callable[[str], str | None] = own_address_towards
    address_every_s: float = ADDRESS_EVERY_S


class Agent:
    """One node's agent; `run` is its whole life."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._stop, self._kill = asyncio.Event(), asyncio.Event()
        self._changed = asyncio.Event()
        self._address: str | None = None
        settings = means.settings
        self.state = NodeState(EngineState(settings.engine))
        is_tls = settings.tls is not Tls.OFF
        self._certificate = fingerprint(means.home.certificate) if settings.tls is Tls.ON else None
        context = server_context(means.home) if is_tls else None
        self.filter = Filter(settings, self.state, now=means.now, tls=context)

    async def run(self) -> int:
        """Serve until told to leave; gives the exit code.

        Raises:
            OSError: the filter's port is taken.
        """
        settings = self._means.settings
        async with aiohttp.ClientSession() as near, far_session() as far:
            engine = engine_of(settings.engine, settings.engine_url, near, self._means.machine)
            watcher = Watcher(engine, self.state, self._means.told)
            tunnel = self._tunnel(near)
            announcer = self._announcer(far, tunnel)
            await self.filter.start()
            try:
                with _signals(self.stop):
                    return await self._serve(engine, watcher, announcer, tunnel)
            finally:
                await self.filter.stop()

    def stop(self) -> None:
        """Begin to leave, as after SIGTERM; the second time, be gone at once."""
        (self._kill if self._stop.is_set() else self._stop).set()

    async def _serve(
        self, engine: Engine, watcher: Watcher, announcer: Announcer, tunnel: CloudflaredTunnel | None
    ) -> int:
        code, settings = EXIT_OK, self._means.settings
        async with asyncio.TaskGroup() as group:
            works = [
                group.create_task(watcher.run()),
                group.create_task(warm_named(engine, self.state, settings.models, self._means.told)),
                group.create_task(self._tell(announcer, tunnel)),
            ]
            if settings.tunnel is Tunnel.NONE and settings.public_url is None:
                works.append(group.create_task(self._know_address()))
            if self._means.keeps_awake:
                commands = locks(self._means.machine.system, os.getpid())
                works.append(group.create_task(keep_awake(commands, self._means.told)))
            if tunnel is not None:
                works.append(group.create_task(tunnel.run()))
            announcing = group.create_task(_until_superseded(announcer))
            leaving = group.create_task(self._stop.wait())
            done, _ = await asyncio.wait((announcing, leaving), return_when=asyncio.FIRST_COMPLETED)
            announcing.cancel()
            if leaving in done:
                code = await self._leave(announcer)
            else:
                await self._drain()
                raise announcing.result()
            for task in (leaving, *works):
                task.cancel()
        return code

    async def _leave(self, announcer: Announcer) -> int:
        """Say that this node leaves, then take nothing new, then let running answers end."""
        self.state.leave()
        await _first_of(LAST_WORD_S, _last_word(announcer), self._kill.wait())
        await self._drain()
        return EXIT_KILLED if self._kill.is_set() else EXIT_OK

    async def _drain(self) -> None:
        """Take nothing new, and let running answers end in their time."""
        self.state.drain()
        self._changed.set()
        self._means.told("info", f"draining; {self.state.under_way} answers run")
        await _first_of(self._means.settings.drain_s, self.state.quiet(), self._kill.wait())
        if self.state.under_way:
            self._means.told("warning", f"{self.state.under_way} answers are cut")

    async def _know_address(self) -> None:
        """Keep to this machine's address: there may be none yet at its start, and another after each move."""
        gateway = self._means.settings.gateway
        while True:
            found = await asyncio.to_thread(self._means.address_towards, gateway)
            if found is not None and found != self._address:
                self._address = found
                self.state.news.set()
            await asyncio.sleep(self._means.address_every_s)

    def _tunnel(self, session: aiohttp.ClientSession) -> CloudflaredTunnel | None:
        means = self._means
        if means.settings.tunnel is Tunnel.NONE:
            return None
        return CloudflaredTunnel(
            means.cloudflared,
            means.settings,
            means.metrics_port,
            session,
            changed=self.state.news.set,
            told=means.told,
        )

    def _announcer(self, session: aiohttp.ClientSession, tunnel: CloudflaredTunnel | None) -> Announcer:
        means = self._means

        def place() -> Place | None:
            state = TunnelState() if tunnel is None else tunnel.state
            return place_of(means.settings, state, self._address, self._certificate)

        return Announcer(
            means.settings,
            self.state,
            place,
            session,
            epoch_ms=int(means.now() * 1000),
            now_ms=lambda: means.now() * 1000,
            told=means.told,
            announced=self._changed.set,
        )

    async def _tell(self, announcer: Announcer, tunnel: CloudflaredTunnel | None) -> None:
        """Keep the status file in step with what is known."""
        means = self._means
        while True:
            self._changed.clear()
            known = Known(
                settings=means.settings,
                state=self.state,
                place=announcer.place(),
                tunnel=None if tunnel is None else tunnel.state,
                problem=announcer.problem,
                accepted=announcer.accepted,
                ignored=announcer.ignored,
                pid=os.getpid(),
                version=means.version,
                said=announcer.said,
            )
            try:
                write_status(means.home.status, status_of(known))
            except OSError as error:
                means.told("warning", f"{means.home.status} cannot be written: {error.strerror or error}")
            await self._changed.wait()


async def _until_superseded(announcer: Announcer) -> Superseded:
    """Announce; what ends that is given and not raised, since running answers are to end first."""
    try:
        await announcer.run()
    except Superseded as error:
        return error


async def _last_word(announcer: Announcer) -> None:
    with suppress(Superseded):
        await announcer.announce()


async def _first_of(within_s: float, *works: Coroutine[object, object, object]) -> None:
    """Wait until one of them is done or the time is over; the others are cancelled."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        await asyncio.wait(tasks, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


@contextmanager
def _signals(signalled: Callable[[], None]) -> Iterator[None]:
    """Have SIGTERM and SIGINT call this while the block runs."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, signalled)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
