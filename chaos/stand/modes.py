"""What a target does wrong on purpose: which faults are on, and which requests they strike.

Not here: how a struck answer looks (`answering.py`).
"""

from dataclasses import dataclass

REFUSE = "refuse"
RESET_MIDWAY = "reset_midway"
STALL_MIDWAY = "stall_midway"
SILENT = "silent"
STATUS = "status"
GARBAGE = "garbage"
ENDLESS = "endless"
GIGANTIC = "gigantic"
COMPRESSED = "compressed"
DRIP = "drip"
LIMITED = "limited"
MEANING = "meaning"
FULL = "full"
LOADING = "loading"
EVICTED = "evicted"
OTHER_MODEL = "other_model"
UNSEEN = "unseen"

FAULT_OF = {
    REFUSE: "refuse",
    RESET_MIDWAY: "cut",
    STALL_MIDWAY: "stall",
    SILENT: "silent",
    STATUS: "status",
    GARBAGE: "malformed",
    ENDLESS: "endless",
    GIGANTIC: "endless",
    COMPRESSED: "compressed",
    DRIP: "slow_drip",
    LIMITED: "rate_limited",
    MEANING: "meaning_in_200",
    FULL: "fewer_slots",
    LOADING: "evicted",
    EVICTED: "evicted",
    OTHER_MODEL: "other_model",
    UNSEEN: "status",
}
"""The fault of a plan that each mode is: judges know these words. Who is unseen answers clients, and fails
whoever looks or asks for a token to see whether it is well."""


@dataclass(slots=True)
class Mode:
    """One fault that is on: its amount, which requests it strikes, and how many came since.

    `key` is the credential that a limit is for, once one was shown.
    """

    amount: float
    every: int
    seen: int = 0
    key: str | None = None


class Modes:
    """The faults of one target."""

    def __init__(self) -> None:
        self._on: dict[str, Mode] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are on."""
        return tuple(self._on)

    def switch(self, name: str, amount: float, *, on: bool, every: int) -> None:
        """Begin or end a fault."""
        if on:
            self._on[name] = Mode(amount, every)
        else:
            self._on.pop(name, None)

    def of_all(self, name: str) -> Mode | None:
        """Give a fault if it strikes everybody: then it strikes those too who only look."""
        mode = self._on.get(name)
        return mode if mode is not None and mode.every == 1 else None

    def striking(self, name: str) -> Mode | None:
        """Give a fault if it strikes this request, which counts."""
        mode = self._on.get(name)
        if mode is None:
            return None
        mode.seen += 1
        return mode if mode.seen % mode.every == 0 else None

    def limiting(self, key: str) -> Mode | None:
        """Give a limit if it is for this credential: it is for the first one that is shown."""
        mode = self._on.get(LIMITED)
        if mode is None:
            return None
        mode.key = key if mode.key is None else mode.key
        return mode if mode.key == key else None
