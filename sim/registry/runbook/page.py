"""What a page of the runbook holds. Its texts are Markdown, and every name in backticks is one of the product."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """One id, for who is on call.

    `sees` is the line of the table: what of it metrics, log or readiness show. `symptom` is what callers notice,
    `itself` what KTMS does without being asked, `look` what to look at first, `do` what is left to do, `over` how
    to tell that it has passed.
    """

    sees: str
    symptom: str
    itself: str
    look: tuple[str, ...]
    do: str
    over: str
