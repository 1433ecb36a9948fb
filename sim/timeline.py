"""A run as people read it: one line per event, when, where and what, with calls and faults told apart.

Without `everything` only what a story needs is told: phases, faults, hosts, calls and their exchanges, what an
operator did, what failed; leases where an invariant was violated. What repeats is folded into its first line.
Violations stand at their second. Times count from the first fact. Not here: colours and columns (`sim/cli`).
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from sim.journal.fact import Fact

TEXT_MAX = 60
"""Signs of a text that are shown; what is said of it is how long it was."""

REPEATS_MIN = 2
"""Repeats that are folded: a single one takes no more room as it is."""

VIOLATED_AT = re.compile(r"\S+ at (\d+(?:\.\d+)?) s\b")
"""How a violation says when it was."""

AT_DIGITS = 3
"""As many digits of a second as it says."""

NO_TIME = math.inf
"""When a violation was that says nothing about it."""

JUDGE = "judge"
"""The host of violations."""

LEASES = frozenset({"lease_taken", "lease_released"})

HAPPENINGS = frozenset({"dependency_failed", "keys_asked", "lease_refused", "log"})
"""Kinds of which one says nothing about another; one of any other tells of a state, and ends the former."""

GOOD_OUTCOMES = frozenset({"whole", "done"})


class Tone(Enum):
    """What an event is about."""

    PHASE = "phase"
    CALL = "call"
    FAULT = "fault"
    WRONG = "wrong"  # something did not go well; often rightly so
    VIOLATED = "violated"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Event:
    """`at_s` counts from the beginning of the run."""

    at_s: float
    host: str
    tone: Tone
    text: str


def events(facts: Iterable[Fact], violations: Sequence[str] = (), *, everything: bool = False) -> Iterator[Event]:
    """Tell a run; violations as an outcome has them, and one that names no time comes last."""
    told = _told_of(facts, everything=everything, leases=bool(violations))
    return _with_violations((event for _, event in told) if everything else _folded(told), violations)


def _told_of(facts: Iterable[Fact], *, everything: bool, leases: bool) -> Iterator[tuple[str, Event]]:
    """Give what is worth a line, each with its kind of fact."""
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
        plain = everything or (leases and fact.kind in LEASES)
        if told is None and not plain:
            continue
        tone, text = (Tone.PLAIN, _plain(fact)) if told is None else told(fact)
        if text or everything:
            yield fact.kind, Event(fact.at - began, fact.host, tone, text or _plain(fact))


@dataclass(slots=True)
class _Repeats:
    """A line, and how often it came again until when."""

    line: Event
    count: int = 0
    until_s: float = 0.0


def _folded(told: Iterable[tuple[str, Event]]) -> Iterator[Event]:
    """Tell a line of a host that comes again and again once, as long as no phase and no fault comes between."""
    lines: list[tuple[Event, _Repeats]] = []
    running: dict[tuple[str, str], dict[str, _Repeats]] = {}
    for kind, event in told:
        if event.tone in {Tone.PHASE, Tone.FAULT}:
            running.clear()
        of_kind = running.setdefault((kind, event.host), {})
        repeats = of_kind.get(event.text)
        if repeats is None:
            if kind not in HAPPENINGS:
                of_kind.clear()
            repeats = of_kind[event.text] = _Repeats(event)
        else:
            repeats.count += 1
            repeats.until_s = event.at_s
        lines.append((event, repeats))
    for event, repeats in lines:
        if repeats.count < REPEATS_MIN:
            yield event
        elif event is repeats.line:
            yield replace(event, text=f"{event.text} … {repeats.count} more until {repeats.until_s:.1f} s")


def _with_violations(told: Iterable[Event], violations: Sequence[str]) -> Iterator[Event]:
    """Put each violation behind what happened up to then."""
    waiting = sorted(map(_violation, violations), key=lambda event: event.at_s)
    last_s = 0.0
    for event in told:
        while waiting and waiting[0].at_s < round(event.at_s, AT_DIGITS):
            yield waiting.pop(0)
        yield event
        last_s = event.at_s
    for event in waiting:
        yield replace(event, at_s=last_s) if event.at_s == NO_TIME else event


def _violation(text: str) -> Event:
    found = VIOLATED_AT.match(text)
    return Event(float(found[1]) if found else NO_TIME, JUDGE, Tone.VIOLATED, f"!! {text}")


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
