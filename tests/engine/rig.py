"""The engine on memory adapters: real rules, scripted targets, every book open to be read.

Targets: the nodes `mac-1` (two slots) and `mac-2` (one), the vendors `alpha` (two keys) and `beta` (one). What a
target answers is told by `Rig.says`.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from ktms.adapters.memory.answer_cache import MemoryAnswerCache
from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.change_feed import MemoryChangeFeed
from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.repeats import MemoryRepeats
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.memory.upstream import Head, MemoryUpstream, Script, State
from ktms.adapters.memory.usage_spool import MemoryUsageSpool
from ktms.api.status_table import status_of
from ktms.dialects.openai_chat.request import read_request
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.key_form import KeyKind, make_key, read_key
from ktms.domain.access.secret import Secret
from ktms.domain.call import NO_CHOICES, Choices, Route
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ClientKeySpec,
    EngineKind,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PolicySpec,
    TargetSpec,
    TenantSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.ids import KeyId, NodeName, RequestId, TenantName
from ktms.domain.placement import Placement
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.snapshot import CloudTarget, Model, Snapshot
from ktms.engine.admit import Admission
from ktms.engine.answer_cache import CachedAnswers, CacheMeans
from ktms.engine.attempt import Attempts
from ktms.engine.budget import Budget, BudgetMeans
from ktms.engine.call import Call, Headers, Result
from ktms.engine.condition import Condition
from ktms.engine.current import Current
from ktms.engine.drain import Drain
from ktms.engine.fleet import Fleet
from ktms.engine.ids import Identities
from ktms.engine.loads import Loads
from ktms.engine.look import Looks
from ktms.engine.loop_watch import LoopWatch
from ktms.engine.node_walk import Machines
from ktms.engine.outbox import Outbox
from ktms.engine.place import Placer
from ktms.engine.probe import Prober
from ktms.engine.repeats import KeyedCalls, RepeatMeans
from ktms.engine.settings import EngineSettings
from ktms.engine.settle import Bookkeeper
from ktms.engine.sweep import Sweeper
from ktms.engine.switchboard import Parts, Switchboard
from ktms.engine.waiting import Queues
from ktms.engine.walk import Means
from ktms.ports.key_store import KeyStore
from ktms.ports.lease_store import LeaseStore
from ktms.ports.upstream import UpstreamRequest
from tests.world.events import DONE, VENDOR_MODEL, C, F, U, chat_answer

KEY = make_key(KeyKind.CLIENT, lambda count: bytes(range(count)))
NODE_HOSTS = {f"10.0.0.{number}": f"mac-{number}" for number in range(1, 6)}
HOSTS = {**NODE_HOSTS, "alpha.example": "alpha", "beta.example": "beta"}
JSON = (("Content-Type", "application/json"),)
EVENTS = (("Content-Type", "text/event-stream"),)
TEST = Actor("test", Role.OWNER)
NODE_MODEL = VENDOR_MODEL
"""What the nodes serve, and therefore what they name in their answers."""

CATALOGUE = Catalogue(
    vendors=(
        VendorSpec(
            "alpha",
            VendorKind.OPENAI,
            "https://alpha.example/v1",
            keys=(Secret("sk-alpha-key-one"), Secret("sk-alpha-key-two")),
        ),
        VendorSpec("beta", VendorKind.OPENAI, "https://beta.example/v1", keys=(Secret("sk-beta-key"),)),
    ),
    nodes=tuple(
        NodeSpec(name, f"http://{host}:8000", (NodeModelSpec(NODE_MODEL),), engine=EngineKind.VLLM, slots=slots)
        for name, host, slots in (("mac-1", "10.0.0.1", 2), ("mac-2", "10.0.0.2", 1))
    ),
    models=(
        ModelSpec("cloudy", (TargetSpec("alpha", "gpt"), TargetSpec("beta", "mistral")), aliases=("default",)),
        ModelSpec("homely", (TargetSpec("local", NODE_MODEL),)),
        ModelSpec(
            "mixed", (TargetSpec("local", NODE_MODEL), TargetSpec("alpha", "gpt"), TargetSpec("beta", "mi"))
        ),
        ModelSpec("nowhere", (TargetSpec("local", "absent"),)),
    ),
    chains=(ChainSpec("auto", {"low": ("homely",), "high": ("cloudy", "homely")}, "high"),),
    tenants=(TenantSpec("default"),),
    client_keys=(ClientKeySpec("app", "default", secret=Secret(KEY)),),
)


def policy(**members: object) -> Catalogue:
    """Give the catalogue with another policy."""
    return replace(CATALOGUE, policy=PolicySpec(**members))  # type: ignore[arg-type]  # the constructor checks


def snapshot(catalogue: Catalogue = CATALOGUE, version: int = 1) -> Snapshot:
    return compile_snapshot(replace(catalogue, client_keys=()), version=version)


def cloud(found: Snapshot, name: str = "cloudy", index: int = 0) -> tuple[Model, CloudTarget]:
    """Give a model and one of its cloud targets."""
    model = found.names[name]
    assert isinstance(model, Model)
    return model, model.cloud[index]


def client_key(name: str = "app", digit: str = "0", **rights: object) -> ClientKey:
    return ClientKey(KeyId(digit * 10), bytes(32), name, TenantName("default"), **rights)  # type: ignore[arg-type]  # members by name


def whole(text: str = "hello", **extra: object) -> Script:
    """Answer with one JSON body."""
    return (Head(200, JSON), chat_answer(text, **extra))  # type: ignore[arg-type]  # counts and members


def stream(*texts: str) -> Script:
    """Answer with a complete stream."""
    return (Head(200, EVENTS), *(C(text) for text in texts), F("stop"), U(7, len(texts)), DONE)


def refusal(status: int, message: str = "no", **headers: str) -> Script:
    """Answer with an error; `retry_after="7"` becomes `retry-after: 7`."""
    given = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    body = json.dumps({"error": {"message": message, "type": None, "code": None}}).encode()
    return (Head(status, (*JSON, *given)), body)


def listing(*models: str, status: int = 200, headers: Headers = (), **facts: object) -> Script:
    """Answer a look with a list of models; `facts` are what an agent says of each."""
    told = {"ktms": facts} if facts else {}
    data = [{"id": name, "object": "model", **told} for name in models]
    return (Head(status, (*JSON, *headers)), json.dumps({"object": "list", "data": data}).encode())


@dataclass
class Rig:
    """One engine with its world. `dialled` names the targets in the order in which they were asked."""

    settings: EngineSettings
    catalogue: Catalogue
    clock: LoopClock = field(default_factory=LoopClock)
    entropy: SeededEntropy = field(default_factory=lambda: SeededEntropy("rig"))
    telemetry: MemoryTelemetry = field(default_factory=MemoryTelemetry)
    ledger: MemoryUsageSpool = field(default_factory=MemoryUsageSpool)
    reports: MemoryLedger = field(default_factory=MemoryLedger)
    quotas: MemoryQuotaStore = field(default_factory=MemoryQuotaStore)
    answers: MemoryAnswerCache = field(default_factory=MemoryAnswerCache)
    repeats: MemoryRepeats | None = None
    fleet_store: MemoryFleetStore = field(default_factory=lambda: MemoryFleetStore(LoopClock()))
    slots: MemoryReplica = field(default_factory=MemoryLeaseStore)
    store: MemoryStore = field(default_factory=MemoryStore)
    leases: LeaseStore | None = None
    keys: KeyStore | None = None
    explains: bool = False

    def __post_init__(self) -> None:
        self.upstream = MemoryUpstream(self._script)
        self._scripts: dict[str, deque[Script]] = {}
        self._pages: dict[str, Script] = {}
        self._metrics: dict[str, Script] = {}
        self.identities = Identities(self.clock, self.entropy)
        self.drain = Drain()
        self.condition = Condition(self.clock, self.telemetry)
        self.admission = Admission(
            self.keys or MemoryKeyStore(self.store), self.clock, self.telemetry, self.settings
        )
        self.books = Bookkeeper(
            outbox=Outbox(self.reports, self.ledger, self.entropy, self.telemetry),
            telemetry=self.telemetry,
            clock=self.clock,
            identities=self.identities,
            status_of=status_of,
        )
        self.budget = Budget(
            BudgetMeans(
                self.quotas, self.reports, self.clock, self.telemetry, dollars_closed=self.settings.dollars_closed
            )
        )
        self.machines = Machines(
            clock=self.clock,
            fleet=Fleet(self.clock, self.telemetry, 0),
            identities=self.identities,
            leases=self.leases or self.slots,
            loads=Loads(),
            queues=Queues(self.slots),
            telemetry=self.telemetry,
            explains=self.explains,
        )
        self.means = Means(
            attempts=Attempts(self.upstream, self.books, self.clock, self.settings),
            clock=self.clock,
            condition=self.condition,
            machines=self.machines,
            telemetry=self.telemetry,
        )
        self._make_works()
        self.loop_watch = LoopWatch(self.clock, self.telemetry, self.settings.loop_look_s)
        self.placer = Placer(0)
        self._make_repeats()
        self.catalogue_store = MemoryCatalogueStore(self.store)
        self.feed = MemoryChangeFeed(self.store)
        self.config = MemoryConfigStore(self.store, self.entropy)

    def _make_works(self) -> None:
        self.sweeper = Sweeper(
            board=self.slots,
            fleet=self.machines.fleet,
            leases=self.leases or self.slots,
            queues=self.machines.queues,
            room=self.slots,
            telemetry=self.telemetry,
        )
        self.prober = Prober(self.machines, self.slots, Looks(self.upstream))

    def _make_repeats(self) -> None:
        self.cached = CachedAnswers(
            CacheMeans(self.answers, self.books, self.budget, self.clock, self.entropy, self.telemetry)
        )
        self.repeats = self.repeats or MemoryRepeats(self.store, self.clock)
        self.keyed = KeyedCalls(RepeatMeans(self.repeats, self.slots, self.clock, self.telemetry, 720.0))

    async def start(self) -> None:
        """Apply the catalogue and put its snapshot in force."""
        await self.config.apply(self.catalogue, actor=TEST, prune=False, dry_run=False)
        self.current = Current(await self.catalogue_store.snapshot(), self.clock)
        self.current.on_swap(self.machines.fleet.sync)
        self.switchboard = Switchboard(
            Parts(
                admission=self.admission,
                books=self.books,
                budget=self.budget,
                cached=self.cached,
                clock=self.clock,
                current=self.current,
                drain=self.drain,
                keyed=self.keyed,
                loop=self.loop_watch,
                means=self.means,
                placer=self.placer,
                settings=self.settings,
                telemetry=self.telemetry,
            )
        )

    async def peer(self, name: str) -> "Rig":
        """Start another replica: the same machines and store of leases, all else its own."""
        replica = MemoryReplica(self.fleet_store, name)
        other = Rig(self.settings, self.catalogue, entropy=SeededEntropy(name), slots=replica)
        other._scripts, other._pages, other._metrics = self._scripts, self._pages, self._metrics
        await other.start()
        return other

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[asyncio.TaskGroup]:
        """Let the work beside the calls run while the block does: leases, views, queues, looks and loads.

        The group is for calls of the block; what of them is left at its end is waited for.
        """
        async with asyncio.TaskGroup() as beside:
            works = [beside.create_task(work()) for work in (self.sweeper.run, self.prober.run)]
            async with asyncio.TaskGroup() as group:
                yield group
            for work in works:
                work.cancel()

    def says(self, target: str, *scripts: Script) -> None:
        """Tell what a target answers to each request; the last one stands for all that follow."""
        assert target in HOSTS.values(), target
        self._scripts[target] = deque(scripts)

    def shows(self, node: str, page: Script) -> None:
        """Tell what a node answers when it is looked at; unless told, that it has its model."""
        self._pages[node] = page

    def tells(self, node: str, metrics: Script) -> None:
        """Tell what a node answers when its metrics are read; unless told, that it has none."""
        self._metrics[node] = metrics

    def _script(self, request: UpstreamRequest) -> Script:
        target = HOSTS[request.origin.host]
        if request.prologue.path.endswith("/metrics"):
            return self._metrics.get(target, refusal(404))
        if request.prologue.method == "GET":
            return self._pages.get(target, listing(NODE_MODEL))
        assert target in self._scripts, f"nobody said what {target} answers"
        scripts = self._scripts[target]
        return scripts.popleft() if len(scripts) > 1 else scripts[0]

    def call(
        self,
        model: str = "cloudy",
        *,
        token: str = KEY,
        route: Route = Route.CHAT,
        placement: Placement | None = None,
        **members: object,
    ) -> Call:
        """Make a call; `members` stand in its body."""
        if route is Route.EMBEDDINGS:
            body: dict[str, object] = {"model": model, "input": "hi", **members}
        else:
            body = {"model": model, "messages": [{"role": "user", "content": "hi"}], **members}
        choices = NO_CHOICES if placement is None else Choices(placement=placement)
        parsed = read_request(json.dumps(body).encode(), route)
        request_id = self.identities.request()
        return Call(RequestId(request_id), route, token, choices, parsed, self.clock.monotonic())

    async def handle(self, call: Call, client: MemoryClient | None = None) -> Result:
        """Answer a call."""
        return await self.switchboard.handle(call, client or MemoryClient())

    @property
    def dialled(self) -> list[str]:
        return [
            HOSTS[exchange.request.origin.host]
            for exchange in self.upstream.exchanges
            if exchange.request.prologue.method == "POST"
        ]

    @property
    def busy(self) -> int:
        """Slots in use on all nodes."""
        return sum(self.slots.busy(NodeName(name)) for name in HOSTS.values())

    def assert_at_rest(self, *, calls: int) -> None:
        """Check that nothing is left of the calls but their books."""
        assert self.busy == 0, "a lease was kept"
        assert [exchange.state for exchange in self.upstream.exchanges if exchange.state is State.OPEN] == []
        assert self.telemetry.in_flight == 0
        assert self.drain.inflight == 0
        assert len(self.telemetry.calls) == calls, "one record per call"
        assert len(self.ledger.events) == len(self.upstream.exchanges), "one usage event per target asked"


async def rig_of(
    *,
    settings: EngineSettings | None = None,
    catalogue: Catalogue = CATALOGUE,
    leases: LeaseStore | None = None,
    keys: KeyStore | None = None,
) -> Rig:
    """Make a rig and start it."""
    rig = Rig(settings or EngineSettings(), catalogue, leases=leases, keys=keys)
    await rig.start()
    return rig


async def replica_of(catalogue: Catalogue = CATALOGUE, *, settings: EngineSettings | None = None) -> Rig:
    """Make a rig whose leases expire and which may have peers, and start it."""
    store = MemoryFleetStore(LoopClock())
    rig = Rig(settings or EngineSettings(), catalogue, fleet_store=store, slots=MemoryReplica(store, "one"))
    await rig.start()
    return rig


def key_id() -> KeyId:
    """Give the id of KEY."""
    text = read_key(KEY)
    assert text is not None
    return text.id


async def all_of(*calls: Sequence[object]) -> None:
    """Let what is ready run."""
    for _ in calls:
        await asyncio.sleep(0)
