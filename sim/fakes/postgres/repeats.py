"""Calls and their keys as one replica has them: the product's memory store behind the database's line, with facts.

What is asked takes effect when the question comes or when the answer goes, as chance decides: one whose answer is
lost may have been carried out.
"""

from ktms.ports.catalogue import StoreAway
from ktms.ports.repeats import Begun, Kept, OtherBody, Repeatable, Running
from sim.fakes.postgres.server import Line
from sim.journal.journal import Journal

ANSWERS = {Begun: "begun", Running: "running", OtherBody: "other_body", Kept: "kept"}


class SimRepeats:
    """Implements the `Repeats` port."""

    def __init__(self, line: Line, journal: Journal) -> None:
        self._line = line
        self._journal = journal
        self._stored = line.server.repeats

    async def begin(self, call: Repeatable) -> Begun | Running | OtherBody | Kept:
        """Begin a call, or tell what is known of the first of its key."""
        try:
            found = await self._line.ask("begin_call", lambda: self._stored.begin(call), _answer_of)
        except StoreAway:
            self._note("repeat_asked", call, "away")
            raise
        self._note("repeat_asked", call, _answer_of(found))
        return found

    async def keep(self, call: Repeatable, answer: bytes | None) -> None:
        """Keep an answer."""
        await self._line.ask("keep_answer", lambda: self._keep(call, answer), lambda _: "kept")
        self._note("repeat_ended", call, "kept")

    async def give_up(self, call: Repeatable) -> None:
        """Give a key up."""
        await self._line.ask("give_up_call", lambda: self._give_up(call), lambda _: "given up")
        self._note("repeat_ended", call, "given_up")

    async def forget_old(self) -> bool:
        """Remove what is over."""
        return await self._line.ask("forget_calls", self._stored.forget_old, str)

    async def _keep(self, call: Repeatable, answer: bytes | None) -> bool:
        await self._stored.keep(call, answer)
        return True

    async def _give_up(self, call: Repeatable) -> bool:
        await self._stored.give_up(call)
        return True

    def _note(self, kind: str, call: Repeatable, answer: str) -> None:
        self._journal.note(kind, self._line.host, word=call.key, request_id=call.request, answer=answer)


def _answer_of(found: Begun | Running | OtherBody | Kept) -> str:
    return ANSWERS[type(found)]
