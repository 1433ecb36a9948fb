"""A run as people read it: one line per event, when, where and what, with calls and faults told apart.

Without `everything` only what a story needs is told: phases, faults, hosts, calls and their exchanges, what an
operator did, what failed. Times count from the first fact. Not here: colours and columns (`sim/cli`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from sim.journal.fact import Fact

TEXT_MAX = 60
"""Signs of a text that are shown; what is said of it is how long it was."""

GOOD_OUTCOMES = frozenset({"whole", "done"})


class Tone(Enum):
    """What an event is about."""

    PHASE = "phase"
    CALL = "call"
    FAULT = "fault"
    WRONG = "wrong"  # something did not go well; often rightly so
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Event:
    """`at_s` counts from the beginning of the run."""

    at_s: float
    host: str
    tone: Tone
    text: str


def events(facts: Iterable[Fact], *, everything: bool = False) -> Iterator[Event]:
    """Tell a run."""
    began: float | None = None
    ready: dict[str, object] = {}
    for fact in facts:
        began = fact.at if began is None else began
        if fact.kind == "readyz" and not everything:
            seen = fact.members["status"], fact.members["reasons"]
            if ready.get(fact.host) == seen:
                continue
            ready[fact.host] = seen
        told = STORY.get(fact.kind)
        if told is None and not everything:
            continue
        tone, text = (Tone.PLAIN, _plain(fact)) if told is None else told(fact)
        if text or everything:
            yield Event(fact.at - began, fact.host, tone, text or _plain(fact))


def _plain(fact: Fact) -> str:
    return _joined(fact.kind, fact, *fact.members)


def _joined(words: str, fact: Fact, *names: str) -> str:
    """Give words and the members of these names that say anything."""
    shown = (f"{name}={_short(fact.members.get(name))}" for name in names if fact.has(name))
    return " ".join((words, *shown))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}… ({len(text)} signs)"


def _phase(fact: Fact) -> tuple[Tone, str]:
    return Tone.PHASE, f"phase {fact.text('name')}"


def _world(fact: Fact) -> tuple[Tone, str]:
    return Tone.PHASE, _joined("world", fact, "seed", "scenario", "level", "replicas")


def _fault(fact: Fact) -> tuple[Tone, str]:
    begins = "begins" if fact.has("on") else "ends"
    return Tone.FAULT, _joined(f"fault {fact.text('fault')} {begins}", fact, "target", "amount")


def _behaviour(fact: Fact) -> tuple[Tone, str]:
    return Tone.FAULT, f"behaviour {fact.text('id')} shown"


def _of_call(words: str, *names: str, wrong: bool = False) -> Callable[[Fact], tuple[Tone, str]]:
    tone = Tone.WRONG if wrong else Tone.CALL
    return lambda fact: (tone, _joined(f"call {fact.members['call']} {words}", fact, *names))


def _ended(fact: Fact) -> tuple[Tone, str]:
    outcome = fact.text("outcome")
    tone = Tone.CALL if outcome in GOOD_OUTCOMES else Tone.WRONG
    names = ("status", "code", "events", "attempts", "retry_after", "garbled", "request_id")
    return tone, _joined(f"call {fact.members['call']} ended: {outcome}", fact, *names)


def _told(fact: Fact) -> tuple[Tone, str]:
    tone = Tone.PLAIN if fact.members["how"] == "whole" else Tone.WRONG
    words = f"exchange {fact.members['exchange']} of call {fact.members['call']} over: {fact.members['how']}"
    return tone, _joined(words, fact, "status", "visible", "finished")


def _asked(fact: Fact) -> tuple[Tone, str]:
    words = f"exchange {fact.members['exchange']} of call {fact.members['call']} asked"
    return Tone.PLAIN, _joined(words, fact, "gateway", "model")


def _keys_asked(fact: Fact) -> tuple[Tone, str]:
    answer = fact.text("answer")
    return Tone.WRONG, "" if answer == "found" else f"look-up of keys: {answer}"


def _log(fact: Fact) -> tuple[Tone, str]:
    level = fact.text("level")
    grave = level in {"warning", "error", "critical"}
    return Tone.WRONG, f"log {level} {fact.text('name')} {_short(fact.text('text'))}" if grave else ""


def _ready(fact: Fact) -> tuple[Tone, str]:
    tone = Tone.PLAIN if fact.members["status"] == 200 else Tone.WRONG
    return tone, _joined("readyz", fact, "status", "state", "reasons")


def _said(words: str, *names: str, tone: Tone = Tone.PLAIN) -> Callable[[Fact], tuple[Tone, str]]:
    return lambda fact: (tone, _joined(words, fact, *names))


STORY: dict[str, Callable[[Fact], tuple[Tone, str]]] = {
    "world": _world,
    "phase": _phase,
    "fault": _fault,
    "behaviour_seen": _behaviour,
    "host_up": _said("host up"),
    "host_crashed": _said("host crashed", tone=Tone.FAULT),
    "host_stopped": _said("host stopped", "clean"),
    "drain_begun": _said("drain begun", tone=Tone.FAULT),
    "drain_over": _said("drain over"),
    "quiet": _said("quiet, holding", "tasks", "connections", "upstream_open", "inflight", "leases"),
    "left_over": _said("left over", "tasks", "connections"),
    "call_sent": _of_call("sent", "gateway", "key", "route", "streamed", "placement"),
    "call_ended": _ended,
    "client_left": _of_call("left by its client", "how", wrong=True),
    "client_stalled": _of_call("read no more by its client", wrong=True),
    "asked": _asked,
    "told": _told,
    "lease_refused": _said("no lease", "nodes", tone=Tone.WRONG),
    "keys_asked": _keys_asked,
    "key_revoked": _said("key revoked", "key", tone=Tone.FAULT),
    "catalogue_applied": _said("catalogue applied", "version", "valid", tone=Tone.FAULT),
    "snapshot_in_force": _said("snapshot in force", "version"),
    "dependency_failed": _said("dependency failed", "dependency", "operation", "failure", tone=Tone.WRONG),
    "log": _log,
    "readyz": _ready,
}
"""How each kind of a story is told: what it is about, and its text, empty for what is not worth a line."""
