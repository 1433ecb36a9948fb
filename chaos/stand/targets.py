"""All vendors and engines of a run: they listen while the context is open.

Not here: what one of them does (`target.py`), how the gateways are told of them (`catalogue.py`).
"""

import itertools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

from chaos.services.free_port import free_port
from chaos.stand.run_journal import RunJournal
from chaos.stand.target import Manner, Target


class Targets(Mapping[str, Target]):
    """The targets by name."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self._targets = {target.name: target for target in targets}

    def __getitem__(self, name: str) -> Target:
        """Give one of them."""
        return self._targets[name]

    def __iter__(self) -> Iterator[str]:
        """Give their names."""
        return iter(self._targets)

    def __len__(self) -> int:
        """Count them."""
        return len(self._targets)

    @property
    def ports(self) -> frozenset[int]:
        """Where they listen."""
        return frozenset(target.port for target in self.values())

    def open_for(self, gateway: str) -> int:
        """Count the answers that are under way for one gateway."""
        return sum(target.open.get(gateway, 0) for target in self.values())


@asynccontextmanager
async def targets(manners: Sequence[Manner], journal: RunJournal) -> AsyncIterator[Targets]:
    """Let them listen while the block runs."""
    numbers = itertools.count(1)
    all_of_them = Targets([Target(manner, free_port(), journal, lambda: next(numbers)) for manner in manners])
    try:
        for target in all_of_them.values():
            await target.listen()
        yield all_of_them
    finally:
        for target in all_of_them.values():
            await target.refuse()
