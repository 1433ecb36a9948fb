"""Three replicas, one Postgres, one Valkey, six machines of ours, a cloud behind them.

The engines take whatever they are sent, so a slot granted twice shows in what they counted.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.e2e import declared
from tests.e2e.cloud import Cloud
from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.fleet_crowd import Crowd, crowd
from tests.e2e.fleet_engine import HOLD
from tests.e2e.fleet_machines import Machines, machines
from tests.e2e.fleet_store import FleetStore, Leases, members
from tests.e2e.http import CHAT, Answer, Stream, ask, saying, streaming
from tests.e2e.serve_process import Replica, prepared, serving
from tests.e2e.waiting import until
from tests.world.events import VENDOR_MODEL

REPLICAS = 3
SLOTS = (1, 2, 2, 3, 4, 4)
WORDS_PER_S = (15.0, 20.0, 40.0, 30.0, 25.0, 35.0)

QUEUE_TIMEOUT_MS = 200
"""Below the first forecast of any queue, which knows no holding time yet: a full fleet means the cloud at once."""

REDIS_TIMEOUT_S = 0.3
"""Longer than the default: three gateways, a crowd and other tests share two processors."""

ANYWHERE = declared.HOUSE
NODES_ONLY = f"{declared.HOUSE}:nodes-only"

VARIABLES: Mapping[str, str] = {
    "KTMS_NODE_ALLOWED_CIDRS": "127.0.0.0/8",
    "KTMS_DRAIN_DELAY_S": "0",
    "KTMS_SHUTDOWN_TIMEOUT_S": "1",
    "KTMS_REDIS_TIMEOUT_MS": str(round(REDIS_TIMEOUT_S * 1000)),
}


@dataclass(frozen=True)
class Fleet:
    """All of it. Replicas are numbered from nought, in the order in which they began."""

    replicas: tuple[Replica, ...]
    machines: Machines
    store: FleetStore
    cloud: Cloud

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the machines."""
        return tuple(machine.name for machine in self.machines.all)

    @property
    def leases(self) -> Leases:
        """What the store holds, at one instant."""
        return self.store.leases(self.nodes)

    @property
    def at_rest(self) -> bool:
        """Whether nobody holds a slot, works or waits."""
        return not members(self.leases) and not self.machines.running and not self.store.waiters(ANYWHERE)

    def say(self, replica: int, model: str) -> Answer:
        """Ask one replica for a short answer."""
        return ask(self.replicas[replica].url, CHAT, key=declared.APP_KEY, body=saying("hi", model=model))

    @contextmanager
    def holding(self, replica: int) -> Iterator[Stream]:
        """Hold a slot through one replica: a stream that never ends by itself, and whose first word has come."""
        url = self.replicas[replica].url
        with streaming(url, declared.APP_KEY, saying(HOLD, model=ANYWHERE)) as stream:
            await_word(stream)
            yield stream

    @contextmanager
    def crowd(self, replicas: tuple[int, ...], clients: int) -> Iterator[Crowd]:
        """Let so many clients ask each of these replicas, over and over, for answers of some words."""
        urls = [self.replicas[number].url for number in replicas]
        with crowd(urls, clients, declared.APP_KEY, saying("8", model=ANYWHERE)) as asking:
            yield asking


def await_word(stream: Stream) -> None:
    """Read until the next word of an answer."""
    while "word" not in (event := stream.event() or ""):
        assert event, "the stream ended"


def await_ready(replica: Replica) -> None:
    """Wait until a replica has a configuration."""
    until(lambda: replica.readiness()[1]["status"] == "ok", "it is ready")


@contextmanager
def fleet(new_home: NewHome, new_database: NewDatabase, cloud: Cloud) -> Iterator[Fleet]:
    """Start everything, and wait until every replica serves the same configuration."""
    folder, database = new_home().folder, new_database()
    with ExitStack() as opened:
        store = opened.enter_context(FleetStore(new_home().folder))
        store.settle()
        ours = opened.enter_context(machines(folder, SLOTS, WORDS_PER_S))
        variables = {**VARIABLES, "KTMS_REDIS_URL": store.url}
        replicas = tuple(opened.enter_context(serving(folder, database, variables)) for _ in range(REPLICAS))
        prepared(replicas[0])
        house = declared.model(ANYWHERE, ("local", VENDOR_MODEL), ("cloud", VENDOR_MODEL))
        replicas[0].apply(
            "fleet",
            vendors=[declared.vendor(cloud.url)],
            nodes=[machine.declared for machine in ours.all],
            models=[{**house, "queue_timeout_ms": QUEUE_TIMEOUT_MS}],
            client_keys=[declared.client_key("app", declared.APP_KEY)],
        )
        for replica in replicas:
            await_ready(replica)
        yield Fleet(replicas, ours, store, cloud)
