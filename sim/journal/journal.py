"""The list of facts of one run, with a rolling hash over them."""

import hashlib
import json
from collections.abc import Callable, Iterator
from difflib import get_close_matches

from sim.journal.fact import Fact, Value
from sim.journal.vocabulary import KINDS


class UnknownFact(AssertionError):
    """A fact whose kind or members are not in the vocabulary: a mistake of the simulator's own."""


class Journal:
    """Takes facts in the order in which they happen. `now` gives the run's clock in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._hash = hashlib.sha256()
        self.facts: list[Fact] = []

    def note(self, kind: str, host: str, **members: Value) -> Fact:
        """Write one fact down.

        Raises:
            UnknownFact: the vocabulary has no such kind, or wants a member that is not there.
        """
        wanted = KINDS.get(kind)
        if wanted is None or not wanted <= members.keys():
            raise UnknownFact(f"{kind}: {sorted(members)}, wanted {sorted(wanted or ())}")
        fact = Fact(self._now(), kind, host, members)
        self.facts.append(fact)
        self._hash.update(f"{fact.at!r} {kind} {host} {members!r};".encode())
        return fact

    def of(self, *kinds: str) -> Iterator[Fact]:
        """Give the facts of these kinds, in order.

        Raises:
            UnknownFact: the vocabulary has no such kind.
        """
        for kind in kinds:
            if kind not in KINDS:
                near = "".join(f": did you mean {name}?" for name in get_close_matches(kind, KINDS, 1))
                raise UnknownFact(f"there is no kind of fact {kind!r}{near}")
        return (fact for fact in self.facts if fact.kind in kinds)

    def has(self, kind: str, **members: Value) -> bool:
        """Whether there is a fact of this kind with these members."""
        return any(members.items() <= fact.members.items() for fact in self.of(kind))

    def digest(self) -> str:
        """Give the hash of all facts so far, in hexadecimal."""
        return self._hash.hexdigest()

    def lines(self) -> Iterator[str]:
        """Give each fact as one line of JSON."""
        for fact in self.facts:
            yield json.dumps({"at": round(fact.at, 9), "kind": fact.kind, "host": fact.host, **fact.members})
