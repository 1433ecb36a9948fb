"""A key store that can be away, hung or slow, and keeps every question it was asked: what a judge needs to know.

What hung or was slow when the database comes back is answered then, as after a stop and a continue of its process.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from ktms.domain.access.client_key import ClientKey
from ktms.domain.ids import KeyId
from ktms.ports.catalogue import StoreAway

ROUND_TRIP_S = 0.002

KEPT_MAX = 400
"""Questions kept: rounds ask every few seconds, and what is older than the window proves nothing any more."""


class Ending(Enum):
    """How a question ended."""

    ANSWERED = "answered"
    BROKEN = "the database went away"
    GIVEN_UP = "nobody waits for it any more"


@dataclass(slots=True)
class Question:
    """One call of `find`. `who` is the name of the task that asked; `read` is what the answer says of each id."""

    who: str
    ids: tuple[KeyId, ...]
    asked_at: float
    ended_at: float | None = None
    ending: Ending | None = None
    read: dict[KeyId, ClientKey] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        return self.ending is Ending.ANSWERED


class FaultyKeys:
    """Implements `KeyStore`. `slow_s` None is hung; `reads_late`: an answer tells what is stored when it is sent;
    `uneven`: every other question is quick, so that answers overtake one another.

    `answers`: whether the last question that says anything was answered; one whose client left says nothing, and
    the tasks of those clients are `leavers`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, asked: Callable[[Question], None]) -> None:
        self.rows: dict[KeyId, ClientKey] = {}
        self.questions: deque[Question] = deque(maxlen=KEPT_MAX)
        self._under_way: Counter[str] = Counter()
        self.away = False
        self.answers: bool | None = None
        self.last_answer_at: float | None = None
        self.slow_s: float | None = ROUND_TRIP_S
        self.reads_late = False
        self.uneven = False
        self._loop = loop
        self._asked = asked
        self.leavers: list[asyncio.Task[None]] = []
        self._numbers = 0
        self._waiting: dict[int, asyncio.Future[None]] = {}

    async def find(self, ids: Collection[KeyId]) -> Mapping[KeyId, ClientKey]:
        task = asyncio.current_task()
        assert task is not None
        question = Question(task.get_name(), tuple(ids), self._loop.time())
        self._asked(question)
        self.questions.append(question)
        self._under_way[question.who] += 1
        question.ending = Ending.GIVEN_UP
        try:
            question.read = self._read(question)
            await self._answer()
            if self.reads_late:
                question.read = self._read(question)
            question.ending = Ending.ANSWERED
        except StoreAway:
            question.ending = Ending.BROKEN
            raise
        finally:
            self._end(question, told=task not in self.leavers)
        return question.read

    def go_away(self) -> None:
        """Refuse; questions under way break."""
        self.away = True
        for waiting in self._open():
            waiting.set_exception(StoreAway("reset"))

    def answer(self, slow_s: float | None) -> None:
        """Be there, and take so long from now on; what is under way is answered unless it hangs."""
        self.away, self.slow_s = False, slow_s
        if slow_s is not None:
            for waiting in self._open():
                waiting.set_result(None)

    def about(self, key_id: KeyId, who: Collection[str]) -> Iterator[Question]:
        """Give the questions about a key, the newest first, that one of these asked."""
        return (asked for asked in reversed(self.questions) if key_id in asked.ids and asked.who in who)

    def any_under_way(self, key_id: KeyId) -> bool:
        """Whether somebody waits for an answer about this key."""
        return any(asked.ended_at is None and key_id in asked.ids for asked in self.questions)

    def under_way(self, who: str) -> bool:
        return self._under_way[who] > 0

    def _read(self, question: Question) -> dict[KeyId, ClientKey]:
        return {each: self.rows[each] for each in question.ids if each in self.rows}

    def _end(self, question: Question, *, told: bool) -> None:
        self._under_way[question.who] -= 1
        question.ended_at = self._loop.time()
        if question.answered:
            self.answers, self.last_answer_at = True, question.ended_at
        elif question.ending is Ending.BROKEN or told:
            self.answers = False

    async def _answer(self) -> None:
        if self.away:
            raise StoreAway("refused")
        self._numbers += 1
        number = self._numbers
        waiting = self._waiting[number] = self._loop.create_future()
        if self.slow_s is not None:
            slow_s = ROUND_TRIP_S if self.uneven and number % 2 else self.slow_s
            self._loop.call_later(slow_s, _wake, waiting)
        try:
            await waiting
        finally:
            del self._waiting[number]

    def _open(self) -> list[asyncio.Future[None]]:
        return [waiting for waiting in self._waiting.values() if not waiting.done()]


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
