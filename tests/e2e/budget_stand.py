"""Three replicas, one Postgres, one Valkey, and a vendor that is paid: a dollar a day for one key and its team.

The vendor takes whatever it is sent and counts, so a call admitted beyond the budget shows in what it served.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException

from ktms.domain.access.key_form import KeyKind, make_key, read_key
from tests.e2e import declared
from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.fleet_machines import LOOPBACK, Machine, machines
from tests.e2e.fleet_stand import REDIS_TIMEOUT_S, await_ready
from tests.e2e.fleet_store import FleetStore
from tests.e2e.http import CHAT, Answer, ask, saying, streaming
from tests.e2e.serve_process import Replica, prepared, serving
from tests.world.events import VENDOR_MODEL

REPLICAS = 3

TEAM = "tenant:team"

DAY_MICROS = 1_000_000
"""A dollar."""

PRICE_USD = "1000"
"""Per million tokens of an answer: a tenth of a cent each."""

WORDS, WORDS_MAX = 40, 100
"""What an answer has, and what it may have: it costs 0.04 dollars, and 0.10 are reserved for it."""

COST_MICROS, RESERVED_MICROS = 40_000, 100_000

FITS = DAY_MICROS // RESERVED_MICROS
"""So many calls may be under way at once."""

WORDS_PER_S = 20.0
"""An answer lasts for two seconds."""

OTHER_KEY = make_key(KeyKind.CLIENT, lambda count: bytes(range(7, count + 7)))
"""A key without limits, until a test gives it some."""

VARIABLES: Mapping[str, str] = {
    "KTMS_NODE_ALLOWED_CIDRS": "127.0.0.0/8",
    "KTMS_DRAIN_DELAY_S": "0",
    "KTMS_SHUTDOWN_TIMEOUT_S": "1",
    "KTMS_REDIS_TIMEOUT_MS": str(round(REDIS_TIMEOUT_S * 1000)),
}


@dataclass(frozen=True, slots=True)
class Paid:
    """One call: how it ended. `status` 0: its gateway was gone."""

    status: int
    whole: bool = False
    code: str = ""
    retry_after: str = ""


@dataclass(frozen=True)
class Stand:
    """All of it. Replicas are numbered from nought."""

    replicas: tuple[Replica, ...]
    vendor: Machine
    store: FleetStore

    @property
    def key(self) -> str:
        """The account of the limited key."""
        text = read_key(declared.APP_KEY)
        assert text is not None
        return f"key:{text.id}"

    def spent_micros(self, account: str) -> int:
        """What the store counts as spent today."""
        counters = self.store.counted(account)
        return 0 if counters is None else counters.day_settled

    def reserved_micros(self, account: str) -> int:
        """What the store holds for calls under way."""
        counters = self.store.counted(account)
        return 0 if counters is None else counters.day_reserved

    def say(self, replica: int, words_max: int = WORDS_MAX, key: str = declared.APP_KEY) -> Answer:
        """Ask one replica, and wait for the whole answer."""
        body = saying(str(WORDS), model=declared.CLOUD, max_tokens=words_max)
        return ask(self.replicas[replica].url, CHAT, key=key, body=body)


@contextmanager
def crowding(stand: Stand, replicas: Sequence[int], calls: int) -> Iterator[list[Paid]]:
    """Let so many calls come at once, spread over replicas; all outcomes are there once the block is over."""
    outcomes: list[Paid] = []
    with ThreadPoolExecutor(calls) as pool:
        found = [
            pool.submit(partial(_call, stand.replicas[replicas[number % len(replicas)]].url))
            for number in range(calls)
        ]
        yield outcomes
        outcomes.extend(each.result() for each in found)


def _call(url: str) -> Paid:
    body = saying(str(WORDS), model=declared.CLOUD, max_tokens=WORDS_MAX)
    try:
        with streaming(url, declared.APP_KEY, body) as stream:
            events = stream.rest()
            if stream.status != 200:
                after = stream.headers.get("retry-after", "")
                return Paid(stream.status, code=_code(events), retry_after=after)
            return Paid(200, whole=bool(events) and events[-1].endswith("[DONE]") and not stream.cut)
    except (OSError, HTTPException):
        return Paid(0)


def _code(events: Sequence[str]) -> str:
    return str(json.loads("".join(events))["error"]["code"])


@contextmanager
def stand(new_home: NewHome, new_database: NewDatabase) -> Iterator[Stand]:
    """Start everything, and wait until every replica serves the same configuration."""
    folder, database = new_home().folder, new_database()
    with ExitStack() as opened:
        store = opened.enter_context(FleetStore(new_home().folder))
        (vendor,) = opened.enter_context(machines(folder, (FITS,), (WORDS_PER_S,))).all
        variables = {**VARIABLES, "KTMS_REDIS_URL": store.url}
        replicas = tuple(opened.enter_context(serving(folder, database, variables)) for _ in range(REPLICAS))
        prepared(replicas[0])
        apply(replicas[0], vendor)
        for replica in replicas:
            await_ready(replica)
        yield Stand(replicas, vendor, store)


def apply(replica: Replica, vendor: Machine, other: Mapping[str, object] | None = None) -> None:
    """Declare all of it; `other` are the limits of the second key."""
    dollar = {"usd_per_day": "1"}
    limited = {**declared.client_key("app", declared.APP_KEY), "tenant": "team", "limits": dollar}
    replica.apply(
        "budget",
        vendors=[declared.vendor(f"http://{LOOPBACK}:{vendor.port}/v1")],
        models=[declared.cloud_model()],
        prices=[{"vendor": "cloud", "model": VENDOR_MODEL, "output": PRICE_USD}],
        tenants=[{"name": "team", "limits": dollar}],
        client_keys=[
            {**limited, "dollar_limit_mode": "closed"},
            {**declared.client_key("other", OTHER_KEY), "limits": dict(other or {})},
        ],
    )
