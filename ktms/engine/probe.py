"""Looks at the nodes: the free look every few seconds, by one replica at a time; a token where one is due.

Rules: what was found goes onto the board, where every replica reads it, this one too; if most of the fleet turns
bad within one round the looks are distrusted (panic rule); a token is only asked of an idle node, with a lease,
and beside the rounds: an engine that hangs holds up nobody (N04). Who sees a node ill asks for it, whoever has the
duty of looking: what one replica's calls met with, others may not have seen.
Not here: what a look is (`look.py`), what follows from it (`domain/capacity/node_health.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from functools import partial
from itertools import islice

from ktms.domain.capacity.node_health import MISSES_MAX, Evidence, believed
from ktms.domain.capacity.node_report import Look, NodeReport
from ktms.domain.capacity.seat import Health, NodeState, Seat
from ktms.domain.capacity.serving import unlisted
from ktms.domain.catalogue import EngineKind
from ktms.domain.ids import NodeName
from ktms.engine.lasting import Loop, run_lasting, spared
from ktms.engine.look import LOAD_S, TOKEN_S, Looks
from ktms.engine.node_walk import Machines
from ktms.ports.fleet_board import FleetBoard
from ktms.ports.lease_store import LeaseStoreAway, SlotWish
from ktms.ports.telemetry import Dependency
from ktms.vendors.registry import node_shape

PROBE_EVERY_S = 5.0

PROBING = "probe"
"""The duty of looking, which one replica has at a time."""

DUTY_S = 12.0
"""A replica that dies has its duty taken over after two rounds."""

DONE_S = 0.01
"""A duty that is done is kept no longer: a look that is posted right after the news of a load hides them from
replicas which have not read them yet."""

METRICS_REST_S = 60.0
"""An engine that told nothing of its load is not asked for it again for so long: most have no metrics at all."""

NAMES_SHOWN_MAX = 3
"""Models named in one line of the log; the list itself is one request away."""

LOOKS_AT_ONCE = 64
"""A round over ten thousand nodes is no stampede of our own."""

TOKENS_AT_ONCE = 16
"""Ill machines asked for a token at once, whatever their number: each may take minutes not to answer."""

LOADS_AT_ONCE = 16
"""Loads under way of this replica: one engine loads one model at a time anyway."""


class Prober:
    """Keeps the board true."""

    def __init__(self, machines: Machines, board: FleetBoard, looks: Looks) -> None:
        self._board = board
        self._clock = machines.clock
        self._fleet = machines.fleet
        self._identities = machines.identities
        self._leases = machines.leases
        self._loads = machines.loads
        self._looks = looks
        self._telemetry = machines.telemetry
        self._misses: dict[NodeName, int] = {}
        self._metrics_rest: dict[NodeName, float] = {}  # until when
        self._differing: set[NodeName] = set()  # told to list other models than were declared
        self._gate = asyncio.Semaphore(LOOKS_AT_ONCE)
        self._token_due: asyncio.Queue[Seat] = asyncio.Queue()  # one per node at most
        self._token_asked: set[NodeName] = set()

    async def run(self) -> None:
        """Look and load until cancelled."""
        async with asyncio.TaskGroup() as group:
            tokens = partial(self._begin_each, group, self._token_due.get, self._ask_token, TOKENS_AT_ONCE)
            loads = partial(self._begin_each, group, self._loads.next, self._load, LOADS_AT_ONCE)
            loops: dict[str, Loop] = {"probe-nodes": self._rounds, "ask-tokens": tokens, "load-models": loads}
            group.create_task(run_lasting(loops, self._telemetry))

    async def _begin_each(
        self,
        group: asyncio.TaskGroup,
        due: Callable[[], Awaitable[Seat]],
        work: Callable[[Seat], Awaitable[None]],
        at_once_max: int,
    ) -> None:
        """Begin what is due, each in a task of its own, so many at once."""
        places = asyncio.Semaphore(at_once_max)

        async def run(seat: Seat) -> None:
            try:
                await spared("ask-node", partial(work, seat), self._telemetry)
            finally:
                places.release()

        while True:
            await places.acquire()
            group.create_task(run(await due()))

    async def round(self) -> None:
        """Look at every node once, if it is this replica's duty; see who needs a token in any case.

        Raises:
            LeaseStoreAway: nobody can be told what was found.
        """
        states = tuple(self._fleet.nodes)
        for state in states:
            self._want_token(state)
        if not states or not await self._board.claim(PROBING, DUTY_S):
            return
        began_at = await self._board.moment()
        now = self._clock.monotonic()
        self._metrics_rest = {name: until for name, until in self._metrics_rest.items() if until > now}
        async with asyncio.TaskGroup() as group:
            looks = [group.create_task(self._look(state)) for state in states]
        self._compare(states, [look.result() for look in looks])
        found = self._believed(states, [look.result() for look in looks])
        await self._board.post(found)
        idle = [report.node for report in found if report.busy == 0]
        if idle:
            await self._board.drained(idle, began_at)

    async def _rounds(self) -> None:
        while True:
            try:
                await self.round()
            except LeaseStoreAway as away:
                self._telemetry.dependency_failed(Dependency.REDIS, "probe_nodes", away.kind)
            await asyncio.sleep(PROBE_EVERY_S)

    async def _look(self, state: NodeState) -> NodeReport:
        name = state.node.name
        async with self._gate:  # another replica may have had the duty until now
            report = await self._looks.models(state, max(self._misses.get(name, 0), self._fleet.misses(name)))
            tells = node_shape(state.node.engine).metrics_path is not None and name not in self._metrics_rest
            if report.look is not Look.ANSWERED or not tells:
                return report
            load = await self._looks.load(state.node)
        if load is None:
            self._metrics_rest[name] = self._clock.monotonic() + METRICS_REST_S
        return replace(report, load=load)

    def _compare(self, states: tuple[NodeState, ...], found: list[NodeReport]) -> None:
        """Say once which llama.cpp lists other models than were declared: it answers to every name."""
        before, self._differing = self._differing, set()
        for state, report in zip(states, found, strict=True):
            node = state.node
            missing = unlisted(node, report.models) if node.engine is EngineKind.LLAMACPP and report.models else []
            if not missing and (report.models or node.name not in before):
                continue
            self._differing.add(node.name)
            if node.name not in before:
                self._telemetry.event(
                    "warning",
                    "node_model_differs",
                    node=node.name,
                    declared=_shown(missing),
                    listed=_shown(report.models),
                )

    def _want_token(self, state: NodeState) -> None:
        name, now = state.node.name, self._clock.monotonic()
        health = self._fleet.health(name)
        seat = min(self._fleet.seats_of(name), key=_cold, default=None)
        if name in self._token_asked or seat is None or state.busy or not health.wants_token(now):
            return
        health.token_asked(now)
        self._token_asked.add(name)
        self._token_due.put_nowait(seat)

    async def _ask_token(self, seat: Seat) -> None:
        try:
            await self._token(seat)
        except LeaseStoreAway as away:
            self._telemetry.dependency_failed(Dependency.REDIS, "probe_nodes", away.kind)
        finally:
            self._token_asked.discard(seat.state.node.name)

    async def _token(self, seat: Seat) -> None:
        """Ask for a token with a lease in hand, should the node be idle after all."""
        state = seat.state
        grant = await self._leases.take((SlotWish(state.node.name, state.slots),), self._identities.lease())
        if grant.lease is None:
            return
        try:
            await self._speaks(f"token:{state.node.name}", seat, TOKEN_S)
        finally:
            self._leases.release(grant.lease)

    def _believed(self, states: tuple[NodeState, ...], found: list[NodeReport]) -> list[NodeReport]:
        told = [one for one in zip(states, found, strict=True) if not one[0].draining]  # those are expected to go
        before = [state.health for state, _ in told]
        after = [
            Health.DOWN if report.look is Look.MISSED and report.misses >= MISSES_MAX else state.health
            for state, report in told
        ]
        if believed(before, after):
            self._misses = {report.node: report.misses for report in found if report.misses}
            return found
        self._telemetry.event("error", "probe_distrusted", nodes=len(states))
        return [report for report in found if report.look is not Look.MISSED]

    async def _load(self, seat: Seat) -> None:
        loaded = False
        self._loads.began(seat, self._clock.monotonic())
        try:
            loaded = await self._loaded(seat)
        except LeaseStoreAway as away:
            self._telemetry.dependency_failed(Dependency.REDIS, "load_model", away.kind)
        finally:
            self._loads.ended(seat, self._clock.monotonic(), loaded=loaded)

    async def _loaded(self, seat: Seat) -> bool:
        """Load a model unless another replica is at it; everybody learns of the result from the board."""
        return await self._speaks(f"load:{seat.state.node.name}:{seat.vendor_model}", seat, LOAD_S)

    async def _speaks(self, duty: str, seat: Seat, timeout_s: float) -> bool:
        """Have a token generated unless another replica is at it; everybody learns of it from the board."""
        if not await self._board.claim(duty, DUTY_S):
            return False
        if seat.cold:
            self._telemetry.event("info", "model_loading", node=seat.state.node.name, model=seat.vendor_model)
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(self._looks.token(seat, timeout_s=timeout_s))
            keeping = group.create_task(self._keep(duty, seat, asking))
            await asyncio.wait((asking,))
            keeping.cancel()
        report = None if asking.cancelled() else asking.result()
        if report is not None and report.look is Look.BARS:
            self._fleet.note(report.node, Evidence.TOKEN_REFUSED)  # others find out by themselves, as by calls
        if report is None or report.look is not Look.SPOKE:
            return False
        self._fleet.spoke(seat)
        await self._board.post((report,))
        await self._board.claim(duty, DONE_S)  # a replica that missed the news may ask for a token itself
        return True

    async def _keep(self, duty: str, seat: Seat, asking: "asyncio.Task[NodeReport]") -> None:
        """Keep the duty while a token is awaited, and end the wait once something else has told what it would.

        A machine that vanishes says nothing: without this its load would be awaited for minutes after it is back.
        """
        state, was_cold, before = seat.state, seat.cold, seat.state.health
        while True:
            await asyncio.sleep(DUTY_S / 3)
            if (was_cold and not seat.cold) or (state.health is not before and state.health is not Health.SUSPECT):
                asking.cancel()
                return
            try:
                await self._board.claim(duty, DUTY_S)
            except LeaseStoreAway as away:
                self._telemetry.dependency_failed(Dependency.REDIS, "load_model", away.kind)


def _shown(names: Collection[str]) -> str:
    """Name a few models: a router lists hundreds."""
    return ", ".join(islice(names, NAMES_SHOWN_MAX))


def _cold(seat: Seat) -> bool:
    return seat.cold
