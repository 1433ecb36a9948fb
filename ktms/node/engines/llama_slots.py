"""The page `/slots` of a llama.cpp server, be it one by itself or a child of Ollama.

It tells what is busy though nobody waits for it any more: a client that left may be served on (N23). The progress
of a slot between two looks is the speed of its stream. Not here: who asks for the page.
"""

from dataclasses import dataclass

from ktms.node.engines.pace import SAMPLE_MIN, rounded
from ktms.node.engines.told import BUSY_MAX, members, number

SLOTS_READ_MAX = 1024
"""As many as a node may announce."""


@dataclass(frozen=True, slots=True)
class _Progress:
    task: int
    tokens: int
    at_s: float


class LlamaSlots:
    """Remembers one server's slots from one look to the next."""

    def __init__(self) -> None:
        self._progress: dict[int, _Progress] = {}
        self.busy: int | None = None
        self.tokens_per_s: float | None = None

    def hear(self, page: object, at_s: float) -> None:
        """Take in a page, read at this instant of a monotonic clock; what is no list of slots tells nothing."""
        if not isinstance(page, list):
            self.busy = None
            return
        slots = [members(slot) for slot in page[:SLOTS_READ_MAX]]
        self.busy = sum(slot.get("is_processing") is True for slot in slots)
        before, self._progress = self._progress, {}
        speeds = []
        for at, slot in enumerate(slots):
            now = _progress(slot, at_s)
            if now is not None:
                self._progress[at] = now
                speeds += _speed(before.get(at), now)
        if speeds:
            self.tokens_per_s = rounded(sum(speeds) / len(speeds))


def _progress(slot: dict[str, object], at_s: float) -> _Progress | None:
    told = slot.get("next_token")  # an object once, a list of one today
    decoded = members(told[0] if isinstance(told, list) and told else told).get("n_decoded")
    task, tokens = number(slot.get("id_task"), 0, 1 << 53), number(decoded, 1, BUSY_MAX)
    if slot.get("is_processing") is not True or task is None or tokens is None:
        return None
    return _Progress(task, tokens, at_s)


def _speed(before: _Progress | None, now: _Progress) -> list[float]:
    if before is None or before.task != now.task or now.at_s <= before.at_s:
        return []
    grown = now.tokens - before.tokens
    return [grown / (now.at_s - before.at_s)] if grown >= SAMPLE_MIN else []
