"""One window for all answers of a machine: what is beyond it ends every answer under way.

llama.cpp with automatic slots has one cache: each slot tells the whole of it, and where the prompts and answers of
all together outgrow it nobody gets on. Not here: what a machine tells of its window (`engines/`).
"""

from collections.abc import Callable

from sim.fakes.dialect import Saying
from sim.fakes.steps import Head, Piece, Step, Steps


class OneWindow:
    """Counts what all answers under way have in memory.

    `ends(saying, begun)` gives the steps with which an answer ends too early; `begun`: its head has been sent.
    """

    def __init__(self, tokens_max: int, ends: Callable[[Saying, bool], Steps]) -> None:
        self._tokens_max = tokens_max
        self._ends = ends
        self._used: dict[int, int] = {}
        self._doomed: set[int] = set()

    def among(self, saying: Saying, good: Steps) -> Steps:
        """Give the steps of an answer for as long as it and all others fit."""
        number, begun = saying.asked.exchange, False
        self._used[number] = saying.prompt_tokens
        try:
            for step in good:
                if self._is_doomed(number):
                    yield from self._ends(saying, begun)
                    return
                yield step
                begun = begun or type(step) is Head
                self._used[number] += _tokens(step)
        finally:
            good.close()
            del self._used[number]
            self._doomed.discard(number)

    def _is_doomed(self, number: int) -> bool:
        if sum(self._used.values()) > self._tokens_max:
            self._doomed.update(self._used)
        return number in self._doomed


def _tokens(step: Step) -> int:
    return len(step.says.split()) if type(step) is Piece else 0
