"""One world: builds what a draft names, lets it run, heals it, and waits until it must be quiet.

Order: gateways up; calls and faults for the time of the draft; then everything is healed, every call ends, and the
world has a bounded time to converge; then one more call per gateway must work, and nothing may be left over. What
happened is in the journal, every byte, reply and timer in the trace. Not here: who judges it (`run.py`).
"""

import asyncio

from ktms.adapters.memory.snapshot_file import MemorySnapshotFile
from ktms.domain.catalogue import Catalogue, ClientKeySpec
from sim.actors.agent import Announcing, announce_for_ever
from sim.actors.batch_client import BatchClient, BatchMeans
from sim.actors.caller import GRACE_S, Means, make
from sim.actors.request import CANARY, Request
from sim.announcements import announcement_of, epoch_ms_of
from sim.catalogue import STRANGER, catalogue_of, tokens_of
from sim.draft import AgentDraft, BatchDraft, CallDraft, Draft, Level, Manner, NodeDraft, vendor_model_of
from sim.edit import Edit
from sim.fakes.clock import HostClock
from sim.fakes.entropy import SimEntropy
from sim.fakes.ledger import SimLedger
from sim.fakes.postgres.operator import Operator
from sim.fakes.postgres.server import SimPostgres
from sim.fakes.usage_spool import SpoolFolder
from sim.faults.carry_out import Breakable, Injector
from sim.fleet import Fleet
from sim.gateway_host import GatewayHost, Surroundings, report
from sim.ground import ground
from sim.journal.journal import Journal
from sim.loop import Deadlock, VirtualLoop
from sim.operators import Watch, act
from sim.process import ProcessParts, make_ports
from sim.seed import Seed
from sim.settings import gateway_settings, limited_accounts, told_settings
from sim.store_looks import StoreLooks
from sim.trace import Trace

HOST = "world"

START_MAX_S = 30.0
"""A gateway that does not listen by then never will."""

LOOKS_AT_REST = 4
LOOK_AT_REST_EVERY_S = 0.31
"""Looks at nodes are short and seconds apart: of a few moments one lies between them."""

CONVERGE_S = 310.0
"""After the healing: breakers (30 s), rests that a vendor may tell us (300 s), polls, re-verification are over."""

LAST_CALL = 1_000_000
"""Numbers of the calls that must work in the end begin here."""

END_MAX_S = 120.0
"""A gateway told to leave is gone by then."""


class World:
    """A world that can be run once."""

    def __init__(self, seed: Seed, scenario: str, draft: Draft, edit: Edit, *, keep_trace: bool) -> None:
        self._seed = seed
        self._scenario = scenario
        self._draft = edit.applied(draft)
        self._edit = edit
        self.trace = Trace(keep=keep_trace)
        self.loop = VirtualLoop(seed.chance("noise"), self.trace, noise=self._draft.knobs.noise)
        self.started_at = self.loop.time()
        self._gateways: tuple[GatewayHost, ...] = ()
        self.journal = Journal(lambda: self.loop.time() - self.started_at)

    def run(self) -> None:
        """Run it to its end.

        Raises:
            Deadlock: nothing could ever happen again.
            Exception: an actor of the world failed; a mistake of the simulator's own.
        """
        with ground(self._seed.chance("ground"), self.loop):
            try:
                self.loop.run_until_complete(self._live())
            finally:
                self.loop.close()

    @property
    def level(self) -> Level:
        """How much of it is real."""
        return self._draft.level

    @property
    def calls(self) -> int:
        """Calls that clients made."""
        return sum(1 for _ in self.journal.of("call_sent"))

    def _build(self) -> None:
        draft, seed, journal = self._draft, self._seed, self.journal
        self._postgres = SimPostgres(seed.child("postgres"), self.trace)
        self._ledger = SimLedger(seed.chance("ledger"), journal, self.trace)
        self._operator = Operator(self._postgres.store, SimEntropy(seed.chance("operator")), journal)
        self._tokens = tokens_of(draft, seed.child("tokens"))
        self._fleet = Fleet(draft, seed.child("fleet"), self.loop, journal, self.trace)
        self._looks = StoreLooks(self._fleet, tuple(limited_accounts(draft, self._tokens)), journal)
        self._gateways = tuple(self._gateway(number) for number in range(draft.replicas))
        self._clients = self._fleet.clients(self._gateways, draft.knobs.client_stall_s)
        self._means = Means(
            clients=self._clients,
            journal=journal,
            token_of=self._tokens.of,
            call_total_s=draft.knobs.call_total_s,
            client_stall_s=draft.knobs.client_stall_s,
        )
        self._injector = Injector(
            Breakable(
                targets=self._fleet.targets,
                roads=self._fleet.roads,
                postgres=self._postgres,
                redis=self._fleet.storage,
                ledger=self._ledger,
                gateways={gateway.name: gateway for gateway in self._gateways},
                operator=self._act,
            ),
            journal,
        )

    def _gateway(self, number: int) -> GatewayHost:
        draft, name = self._draft, f"gw{number + 1}"
        self._fleet.add_gateway(name)
        clock = HostClock(
            self.loop,
            wall_offset_s=draft.knobs.wall_offset_s * number,
            drift=draft.knobs.drift * number,
            boot_offset_s=1000.0 * number + 77.0,
        )
        parts = ProcessParts(
            seed=self._seed.child(name),
            journal=self.journal,
            trace=self.trace,
            postgres=self._postgres,
            targets_of=self._fleet.targets_of if draft.level is Level.PORTS else None,
            store=self._fleet.store,
            redis_url=self._fleet.redis_url,
            ledger=self._ledger,
            spool_folder=SpoolFolder() if draft.spool else None,
            snapshot_disk=MemorySnapshotFile() if draft.saved else None,
            usage_events_max=draft.knobs.usage_events_max,
        )
        around = Surroundings(
            loop=self.loop,
            journal=self.journal,
            clock=clock,
            settings=gateway_settings(draft),
            make_ports=lambda host, clock: make_ports(parts, host, clock),
            killed=self._killed,
            connections=self._fleet.client_connections,
            buffered_bytes=self._fleet.buffered_bytes,
            redis_url=self._fleet.redis_url,
            exhaust=self._fleet.exhaust,
            relieve=self._fleet.relieve,
        )
        return GatewayHost(name, around)

    def _killed(self, incarnation: str) -> None:
        self._fleet.killed(incarnation)
        self._postgres.forget(incarnation.partition("#")[0])

    async def _live(self) -> None:
        self._build()
        self._tell_settings()
        await self._declare()
        for name in ("world", "operator", "client", "agent"):
            self._fleet.add_host(name)
        await self._fleet.open_ports()
        for gateway in self._gateways:
            gateway.ensure_up()
        await self._all_listen()
        await asyncio.sleep(1.0)  # background works have begun: what a gateway at rest holds
        for gateway in self._gateways:
            gateway.sample()
        watch = Watch(self._gateways, self._clients, self.journal, self._draft.knobs.poll_s)
        watching = self.loop.start_on("operator#1", watch.run(), name="watch")
        agents = await self._join()
        await self._faults()
        await self._quiet()
        for actor in (watching, *agents):
            actor.cancel()
        await self._end()

    async def _join(self) -> list[asyncio.Task[None]]:
        """Give each node that joins its key, and let the agents announce their machines until the end."""
        machines = {node.name: node for node in self._draft.nodes}
        models = dict.fromkeys(vendor_model_of(model) for machine in machines.values() for model in machine.serves)
        names = dict.fromkeys(agent.node for agent in self._draft.agents)
        keys = {name: await self._operator.permit(name, tuple(models)) for name in names}
        return [
            self.loop.start_on("agent#1", self._announce(agent, machines[agent.machine], keys), name="agent")
            for agent in self._draft.agents
            if agent.machine in machines
        ]

    async def _announce(self, agent: AgentDraft, machine: NodeDraft, keys: dict[str, str]) -> None:
        def request() -> Request:
            host = self._fleet.address_of(machine.name) if agent.by_address else machine.name
            return announcement_of(agent, machine, keys[agent.node], host)

        await announce_for_ever(Announcing(agent, request, epoch_ms_of(agent), self._clients, self.journal))

    async def _faults(self) -> None:
        """Let calls and faults come, then heal, and see every call end."""
        begins_at = self.loop.time()
        self._phase("faults")
        calls = [
            self._start(number, call, begins_at)
            for number, call in enumerate(self._draft.calls)
            if self._edit.makes(number)
        ]
        faults = [
            self.loop.start_on("world#1", self._injector.carry_out(fault, begins_at), name=f"fault {fault.kind}")
            for fault in self._draft.faults
        ]
        batches = [
            self.loop.start_on("client#1", self._batch(number, batch, begins_at), name=f"batch {number}")
            for number, batch in enumerate(self._draft.batches, 1)
        ]
        samples = self.loop.start_on("world#1", self._sample(), name="samples")
        await asyncio.sleep(self._draft.runs_s)
        for fault in faults:
            fault.cancel()
        await _all_over(faults)
        self._phase("heal")
        self._injector.heal()
        await self._operator.mend()
        await self._all_ended([*calls, *batches])
        samples.cancel()

    async def _quiet(self) -> None:
        """Wait until the world has converged; then a call must work at every gateway, and leave nothing behind."""
        await asyncio.sleep(CONVERGE_S)
        await self._all_listen()
        self._phase("quiet")
        now = self.loop.time()
        last = [
            self._start(LAST_CALL + number, CallDraft(at_s=0.0, gateway=number), now)
            for number in range(len(self._gateways))
        ]
        await self._all_ended(last)
        self._clients.close()
        await asyncio.sleep(1.0)
        await self._all_at_rest()
        self._looks.look(all_of_it=True)

    async def _all_at_rest(self) -> None:
        """Note what each gateway still holds, at the calmest of a few moments: it looks at its nodes anyway."""
        seen: dict[str, list[dict[str, float]]] = {gateway.name: [] for gateway in self._gateways}
        for _ in range(LOOKS_AT_REST):
            for gateway in self._gateways:
                seen[gateway.name].append(gateway.at_rest())
            await asyncio.sleep(LOOK_AT_REST_EVERY_S)
        for gateway in self._gateways:
            calmest = min(
                seen[gateway.name], key=lambda held: (held["tasks"], held["connections"], held["upstream_open"])
            )
            self.journal.note("quiet", gateway.name, **calmest)

    async def _end(self) -> None:
        """Stop every gateway; nothing of it may be left."""
        self._phase("over")
        for gateway in self._gateways:
            gateway.signal()
        async with asyncio.timeout(END_MAX_S):
            for gateway in self._gateways:
                await gateway.gone()
        await asyncio.sleep(1.0)
        for gateway in self._gateways:
            gateway.left_over()

    async def _all_ended(self, calls: list[asyncio.Task[None]]) -> None:
        """Wait until every call has ended.

        Raises:
            Deadlock: some never will: a client waits, takes its time and asks again, and then it gives up.
        """
        knobs = self._draft.knobs
        each_s = knobs.call_total_s + knobs.client_stall_s + 2 * GRACE_S
        again = (Manner.RETRIES, Manner.RETURNS)
        repeats_max = max((call.after for call in self._draft.calls if call.manner in again), default=0)
        slowest_s = max((call.after * call.tokens for call in self._draft.calls), default=0.0)
        try:
            async with asyncio.timeout(each_s * (repeats_max + 2) + slowest_s):
                await _all_over(calls)
        except TimeoutError as error:
            left = ", ".join(task.get_name() for task in calls if not task.done())
            raise Deadlock(self.loop.report(f"these have not ended long after the healing: {left}")) from error

    def _start(self, number: int, call: CallDraft, begins_at: float) -> asyncio.Task[None]:
        host = f"client-{number}" if call.manner is Manner.VANISHES else "client"
        self._fleet.add_host(host)
        return self.loop.start_on(f"{host}#1", self._called(number, call, begins_at), name=f"call {number}")

    async def _called(self, number: int, call: CallDraft, begins_at: float) -> None:
        await asyncio.sleep(begins_at + call.at_s - self.loop.time())
        await make(number, call, self._means)

    async def _batch(self, number: int, batch: BatchDraft, begins_at: float) -> None:
        await asyncio.sleep(begins_at + batch.at_s - self.loop.time())
        means = self._means
        about = BatchMeans(means.clients, means.journal, means.token_of, len(self._gateways), begins_at)
        await BatchClient(number, batch, about).run()

    async def _sample(self) -> None:
        while True:
            await asyncio.sleep(self._draft.knobs.sample_s)
            for gateway in self._gateways:
                gateway.sample()
            self._looks.look()

    async def _all_listen(self) -> None:
        async with asyncio.timeout(START_MAX_S + END_MAX_S):
            for gateway in self._gateways:
                await gateway.listens()

    async def _declare(self) -> None:
        catalogue = self._catalogue()
        await self._operator.apply(catalogue)
        for spec in catalogue.client_keys:
            await self._operator.make_key(spec)
        stranger = self._tokens.of(STRANGER)
        self.journal.note("secret", HOST, what="client_key", value=stranger)
        self.journal.note("secret", HOST, what="prompt", value=CANARY)

    def _catalogue(self) -> Catalogue:
        return catalogue_of(self._draft, self._tokens)

    def _act(self, kind: str) -> None:
        number = sum(1 for _ in self.journal.of("catalogue_applied"))
        work = act(kind, self._operator, self._catalogue(), self._doomed(), number)
        self.loop.start_on("operator#1", work, name=f"operator {kind}").add_done_callback(report)

    def _doomed(self) -> ClientKeySpec | None:
        """Give the key that an operator may revoke: the last one, where there are several."""
        specs = self._catalogue().client_keys
        return specs[-1] if len(specs) > 1 else None

    def _tell_settings(self) -> None:
        draft = self._draft
        self.journal.note(
            "world",
            HOST,
            seed=str(self._seed.value),
            scenario=self._scenario,
            level=draft.level.value,
            replicas=draft.replicas,
        )
        for name, value in told_settings(draft, self._tokens).items():
            self.journal.note("setting", HOST, name=name, value=value)

    def _phase(self, name: str) -> None:
        self.journal.note("phase", HOST, name=name)


async def _all_over(tasks: list[asyncio.Task[None]]) -> None:
    """Wait for all; the first error of one is raised here."""
    if tasks:
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.result()
