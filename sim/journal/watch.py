"""An index over a journal: calls, exchanges, settings, hosts and the weather on the links, for whoever judges.

One per journal, made once and shared. Not here: any judgement (`sim/checkers`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary

from sim.journal.calls import Attempt, Call, Exchange, attempts_of, dialled_of, text_of
from sim.journal.fact import Fact, Value
from sim.journal.hosts import Host
from sim.journal.journal import Journal
from sim.journal.spans import Span, any_overlaps, switched

STORMS = frozenset({"black_hole", "partition", "half_open", "power_off", "slow_link", "thin_link"})
"""Faults of a link that delay what travels on it or swallow it."""

STORM_TAIL_S = 30.0
"""What was held or crawled on a link may arrive this long after the fault ended."""

ARRIVES_WITHIN_S = 1.0
"""On a link without faults, what one side sends reaches the other within this, and is acted upon."""


STALE_WITHIN_S = 1.05
"""A request may be sent once more only where its kept connection died this soon after it was sent, or was dead."""


class Watch:
    """The index. All of it is in the order of the journal."""

    def __init__(self, facts: list[Fact]) -> None:
        self._settings: dict[str, list[Fact]] = defaultdict(list)
        self._hosts: dict[str, Host] = {}
        self._numbered: dict[Value, Exchange] = {}
        self._storms: dict[str, list[tuple[float, bool]]] = defaultdict(list)
        self._swaps: dict[str, list[float]] = defaultdict(list)
        self._resets: dict[str, list[float]] = defaultdict(list)
        self._troubles: dict[str, list[tuple[float, bool]]] = defaultdict(list)
        self.faults: dict[str, list[tuple[float, bool]]] = defaultdict(list)
        self.calls: dict[str, Call] = {}
        self.exchanges: list[Exchange] = []
        self.asked_for: dict[str, list[Exchange]] = defaultdict(list)  # by call
        self.usages: dict[str, list[Fact]] = defaultdict(list)  # by request id
        self.records: dict[str, list[Fact]] = defaultdict(list)  # by request id
        self.phases: dict[str, float] = {}
        self.ends_at = facts[-1].at if facts else 0.0
        self._read(facts)
        self._same: dict[str, list[Exchange]] = defaultdict(list)
        for name, call in self.calls.items():
            self._same[call.question].extend(self.asked_for.get(name, ()))

    @property
    def over(self) -> bool:
        """Whether the run came to its planned end."""
        return "over" in self.phases

    def host(self, name: str) -> Host:
        """Give a machine; one that no fact tells of was up all the time."""
        return self._hosts.get(name) or Host()

    def hosts(self) -> Iterable[tuple[str, Host]]:
        """Give the machines that facts tell of."""
        return self._hosts.items()

    def number(self, name: str, otherwise: float) -> float:
        """Give the newest value of a setting that is a number."""
        facts = self._settings.get(name)
        return facts[-1].number("value") if facts else otherwise

    def most(self, name: str, otherwise: float) -> float:
        """Give the largest value that a setting ever had: replicas hear of a change at different moments."""
        return max((fact.number("value") for fact in self._settings.get(name, ())), default=otherwise)

    def text(self, name: str, otherwise: str = "") -> str:
        """Give the newest value of a setting as text."""
        facts = self._settings.get(name)
        return text_of(facts[-1].members["value"]) if facts else otherwise

    def longer_s(self, seconds: float) -> float:
        """Give how long so many seconds of a gateway's clock may last at most, clocks being as they are."""
        return seconds * (1 + self.number("drift", 0.001))

    def stormy(self, target: str, since: float, until: float) -> bool:
        """Whether the link to a target was delaying or swallowing bytes in this time."""
        moments = self._storms.get(target)
        if moments is None:
            return False
        return any_overlaps(switched(moments), since - STORM_TAIL_S, until)

    def swapped(self, host: str, since: float, until: float) -> bool:
        """Whether a gateway put another snapshot in force in this time."""
        return any(since <= at <= until for at in self._swaps.get(host, ()))

    def troubled(self, target: str, since: float, until: float) -> bool:
        """Whether any fault was aimed at a target in this time, or shortly before it."""
        if self.was_reset(target, since, until):
            return True
        return any_overlaps(switched(self._troubles.get(target, ())), since - STORM_TAIL_S, until)

    def was_reset(self, target: str, since: float, until: float) -> bool:
        """Whether connections to a target were reset in this time."""
        return any(since <= at <= until for at in self._resets.get(target, ()))

    def fault_spans(self, *kinds: str) -> list[Span]:
        """Give when a fault of one of these kinds was on."""
        return [span for kind in kinds for span in switched(self.faults.get(kind, ()))]

    def call(self, name: str) -> Call:
        """Give a call; one that no client told of is empty."""
        return self.calls.get(name) or Call(name)

    def dialled(self, record: Fact) -> tuple[Attempt, ...]:
        """Give the attempts of a record that were dialled."""
        settled = [usage.text("target") for usage in self.usages.get(record.text("request_id"), ())]
        return dialled_of(attempts_of(record), settled)

    def asked(self, call: Call) -> list[Exchange]:
        """Give the exchanges of a call in the order in which targets saw them; of a repeated one, the repeat."""
        return [one for one in self.asked_for.get(call.name, ()) if not one.repeated]

    def asked_the_same(self, call: Call) -> list[Exchange]:
        """Give the exchanges of all calls that asked the same question."""
        return self._same.get(call.question, [])

    def lost_with(self, exchange: Exchange) -> bool:
        """Whether the gateway may have died before it could settle an exchange."""
        call, host = self.call(exchange.call), self.host(exchange.gateway)
        since = min(call.sent_at if call.sents else exchange.asked.at, exchange.asked.at)
        until = max(call.over_at if call.ends else since, exchange.told_at) + ARRIVES_WITHIN_S
        if self.stormy(exchange.target, since, until):
            until += STORM_TAIL_S
        return host.crashed(since, host.thawed_at(until))

    def _read(self, facts: list[Fact]) -> None:
        readers: dict[str, Callable[[Fact], None]] = {
            **dict.fromkeys(
                ("call_sent", "call_begun", "call_ended", "client_left", "client_stalled"), self._read_call
            ),
            **dict.fromkeys(("host_up", "host_crashed", "host_stopped", "drain_begun"), self._read_host),
            "asked": self._read_asked,
            "told": self._read_told,
            "usage": lambda fact: self.usages[fact.text("request_id")].append(fact),
            "record": lambda fact: self.records[fact.text("request_id")].append(fact),
            "setting": lambda fact: self._settings[fact.text("name")].append(fact),
            "phase": self._read_phase,
            "fault": self._read_fault,
            "gauge": self._read_gauge,
            "snapshot_in_force": lambda fact: self._swaps[fact.host].append(fact.at),
        }
        for fact in facts:
            reader = readers.get(fact.kind)
            if reader is not None:
                reader(fact)
        for exchanges in self.asked_for.values():
            self._mark_repeats(exchanges)

    def _read_phase(self, fact: Fact) -> None:
        self.phases.setdefault(fact.text("name"), fact.at)

    def _read_gauge(self, fact: Fact) -> None:
        if fact.members["name"] == "snapshot_version":
            self._swaps[fact.host].append(fact.at)

    def _read_host(self, fact: Fact) -> None:
        self._hosts.setdefault(fact.host, Host()).take(fact)

    def _read_call(self, fact: Fact) -> None:
        name = fact.text("call")
        call = self.calls.get(name)
        if call is None:
            call = self.calls[name] = Call(name)
        match fact.kind:
            case "call_sent":
                call.sents.append(fact)
            case "call_ended":
                call.ends.append(fact)
            case "call_begun":
                call.begun = call.begun or fact
            case "client_left":
                call.left = call.left or fact
            case _:
                call.stalled = call.stalled or fact

    def _read_fault(self, fact: Fact) -> None:
        kind, target, on = fact.text("fault"), fact.text("target"), fact.has("on")
        self.faults[kind].append((fact.at, on))
        if kind in STORMS:
            self._storms[target].append((fact.at, on))
        elif kind in ("reset", "moved"):  # an address that leads nowhere resets what is open
            self._resets[target].append(fact.at)
        if target and kind not in ("reset", "lag"):
            self._troubles[target].append((fact.at, on))
        if kind == "lag":
            self._hosts.setdefault(target, Host()).take(fact)

    def _read_asked(self, fact: Fact) -> None:
        call = self.calls.get(text_of(fact.members["call"]))
        since = call.sent_at if call is not None else fact.at
        exchange = Exchange(fact, self.stormy(fact.text("target"), since, fact.at))
        self._numbered[fact.members["exchange"]] = exchange
        self.exchanges.append(exchange)
        self.asked_for[exchange.call].append(exchange)

    def _read_told(self, fact: Fact) -> None:
        exchange = self._numbered.get(fact.members["exchange"])
        if exchange is not None and exchange.told is None:
            exchange.told = fact

    def _mark_repeats(self, exchanges: list[Exchange]) -> None:
        """Find requests that were sent once more because the connection died before it gave a byte."""
        before: dict[tuple[str, str], Exchange] = {}
        for exchange in exchanges:
            first = before.get(exchange.what)
            if first is not None and exchange.call and not first.is_repeat:
                first.repeated = exchange.is_repeat = self._died_silent(first, exchange.asked.at)
            before[exchange.what] = exchange

    def _died_silent(self, exchange: Exchange, until: float) -> bool:
        """Tell whether its connection may have died without a byte of the answer coming through."""
        # A reset destroys what has not been read, be it on its way or waiting for a process that stands still.
        slow = self.stormy(exchange.target, exchange.asked.at, until)
        slow = slow or self.host(exchange.gateway).stood_still_s(exchange.asked.at, until) > 0
        # A peer that had the request for longer than a moment may have begun to work: no reason to send it again.
        brief = slow or exchange.told_at - exchange.asked.at <= STALE_WITHIN_S
        if exchange.how == "cut" and (exchange.status == 0 or slow) and brief:
            return True
        if not self.was_reset(exchange.target, exchange.asked.at, until):
            return False
        return slow or exchange.how in ("", "cut", "left", "silent")


_WATCHES: "WeakKeyDictionary[Journal, tuple[int, Watch]]" = WeakKeyDictionary()


def watch_of(journal: Journal) -> Watch:
    """Give the index over a journal, made anew when facts were added."""
    count = len(journal.facts)
    known = _WATCHES.get(journal)
    if known is not None and known[0] == count:
        return known[1]
    watch = Watch(journal.facts)
    _WATCHES[journal] = count, watch
    return watch
