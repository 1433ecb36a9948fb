"""Whether Redis is contacted at all: after some failures in a row it is left alone, then one trial decides.

Rules (FR7, FR8): failures in a row count per pipeline, however many requests waited in it; while Redis is left
alone, and until the trial has succeeded, nobody waits for it. Pure: the instants are arguments. Not here: what a
failure is, and the trial itself (`link.py`).
"""

from dataclasses import dataclass

ERRORS_MAX = 3
"""So many failures in a row are no hiccup."""

SILENCE_S = 2.0
"""As long as Redis is left alone; with the trial's timeout it is in use again within 3 s of its return."""


@dataclass(slots=True)
class Guard:
    """`trial_at` is when a trial may begin; None while Redis is in use."""

    errors_max: int = ERRORS_MAX
    silence_s: float = SILENCE_S
    trial_at: float | None = None
    _errors: int = 0

    @property
    def silenced(self) -> bool:
        """Whether nobody may be made to wait for Redis."""
        return self.trial_at is not None

    def succeeded(self) -> None:
        """Note that Redis answered."""
        self._errors = 0
        self.trial_at = None

    def failed(self, now: float) -> None:
        """Note that it did not."""
        self._errors += 1
        if self._errors >= self.errors_max:
            self.trial_at = now + self.silence_s
