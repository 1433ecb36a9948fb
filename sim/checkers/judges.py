"""All judges, in the order of their numbers, and the one way to let them speak.

A checker that throws is no violation: it is broken, and says nothing about the run.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType

from sim.checkers import (
    i1_ends_once,
    i2_usage,
    i3_limits,
    i4_leases,
    i5_attempts,
    i6_keys,
    i7_bounds,
    i8_quiet,
    i9_books,
    i10_secrets,
    i11_same_hash,
    i12_forbidden,
    i13_streams,
    i14_ledger,
    i15_batches,
)
from sim.checkers.violation import Violation
from sim.journal.journal import Journal


class CheckerBroken(Exception):
    """A checker threw; `code` is that of its invariant."""

    def __init__(self, code: str, error: BaseException) -> None:
        super().__init__(f"the checker of {code} is broken: {type(error).__name__}: {error}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Checker:
    """One judge: its invariant's code and words, and its check."""

    code: str
    title: str
    check: Callable[[Journal], Iterator[Violation]]


CHECKERS: tuple[Checker, ...] = tuple(
    Checker(module.CODE, module.TITLE, module.check)
    for module in (
        i1_ends_once,
        i2_usage,
        i3_limits,
        i4_leases,
        i5_attempts,
        i6_keys,
        i7_bounds,
        i8_quiet,
        i9_books,
        i10_secrets,
        i11_same_hash,
        i12_forbidden,
        i13_streams,
        i14_ledger,
        i15_batches,
    )
)


def judge(journal: Journal, checkers: tuple[Checker, ...] = CHECKERS) -> list[Violation]:
    """Let every checker speak; the violations in the order of the checkers, then of their times.

    Raises:
        CheckerBroken: one of them threw.
    """
    found: list[Violation] = []
    for checker in checkers:
        with _Named(checker.code):
            found.extend(sorted(checker.check(journal), key=lambda violation: violation.at))
    return found


class _Named:
    """Says whose error it is that comes out of the block."""

    def __init__(self, code: str) -> None:
        self._code = code

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            raise CheckerBroken(self._code, error) from error
