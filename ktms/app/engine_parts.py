"""The engine from its ports, and those of its parts that doors and works lean on too.

Not here: doors, works beside the calls (`assemble.py`), what batches add (`batch_parts.py`).
"""

from dataclasses import dataclass

from ktms.api.status_table import status_of
from ktms.app.gateway import Ports
from ktms.domain.snapshot import Snapshot
from ktms.engine.admit import Admission
from ktms.engine.answer_cache import CachedAnswers, CacheMeans
from ktms.engine.attempt import Attempts
from ktms.engine.budget import Budget, BudgetMeans
from ktms.engine.condition import Condition
from ktms.engine.current import Current
from ktms.engine.drain import Drain
from ktms.engine.fleet import Fleet
from ktms.engine.ids import Identities
from ktms.engine.loads import Loads
from ktms.engine.loop_watch import LoopWatch
from ktms.engine.node_walk import Machines
from ktms.engine.outbox import Outbox
from ktms.engine.place import Placer
from ktms.engine.repeats import KeyedCalls, RepeatMeans
from ktms.engine.settings import EngineSettings
from ktms.engine.settle import Bookkeeper
from ktms.engine.switchboard import Parts, Switchboard
from ktms.engine.waiting import Queues
from ktms.engine.walk import Means


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What an engine is made of, as far as others lean on it; `engine_of` gives the engine itself."""

    admission: Admission
    budget: Budget
    current: Current
    drain: Drain
    identities: Identities
    keyed: KeyedCalls
    loop: LoopWatch
    machines: Machines
    outbox: Outbox


def engine_parts(ports: Ports, snapshot: Snapshot | None, settings: EngineSettings) -> EngineParts:
    """Make the parts; a new snapshot reaches the machines as soon as it is current."""
    clock, telemetry = ports.clock, ports.telemetry
    current, identities = Current(snapshot, clock), Identities(clock, ports.entropy)
    machines = _machines(ports, identities, settings)
    current.on_swap(machines.fleet.sync)
    return EngineParts(
        admission=Admission(ports.keys, clock, telemetry, settings),
        budget=Budget(
            BudgetMeans(ports.quotas, ports.reports, clock, telemetry, dollars_closed=settings.dollars_closed)
        ),
        current=current,
        drain=Drain(),
        identities=identities,
        keyed=_keyed_calls(ports, settings),
        loop=LoopWatch(clock, telemetry, settings.loop_look_s),
        machines=machines,
        outbox=Outbox(ports.ledger, ports.spool, ports.entropy, telemetry),
    )


def engine_of(ports: Ports, settings: EngineSettings, parts: EngineParts) -> Switchboard:
    """Wire the engine."""
    clock, telemetry = ports.clock, ports.telemetry
    books = Bookkeeper(
        outbox=parts.outbox, telemetry=telemetry, clock=clock, identities=parts.identities, status_of=status_of
    )
    means = Means(
        attempts=Attempts(ports.upstream, books, clock, settings),
        clock=clock,
        condition=Condition(clock, telemetry),
        machines=parts.machines,
        telemetry=telemetry,
    )
    return Switchboard(
        Parts(
            admission=parts.admission,
            books=books,
            budget=parts.budget,
            cached=CachedAnswers(CacheMeans(ports.answers, books, parts.budget, clock, ports.entropy, telemetry)),
            clock=clock,
            current=parts.current,
            drain=parts.drain,
            keyed=parts.keyed,
            loop=parts.loop,
            means=means,
            placer=Placer(int.from_bytes(ports.entropy.token_bytes(2))),
            settings=settings,
            telemetry=telemetry,
        )
    )


def _keyed_calls(ports: Ports, settings: EngineSettings) -> KeyedCalls:
    runs_s = settings.call_total_s + settings.client_stall_s
    return KeyedCalls(RepeatMeans(ports.repeats, ports.board, ports.clock, ports.telemetry, runs_s))


def _machines(ports: Ports, identities: Identities, settings: EngineSettings) -> Machines:
    clock, telemetry = ports.clock, ports.telemetry
    return Machines(
        clock=clock,
        fleet=Fleet(clock, telemetry, int.from_bytes(ports.entropy.token_bytes(2))),
        identities=identities,
        leases=ports.leases,
        loads=Loads(),
        queues=Queues(ports.room),
        telemetry=telemetry,
        explains=settings.explain_choices,
    )
