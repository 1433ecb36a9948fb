"""Desks that are closed after each test: by then every answer asked for was told once, and nothing is open."""

from collections.abc import Callable, Iterator

import pytest

from tests.sim.fakes.desk import Desk


@pytest.fixture
def desk() -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(*args: object, **options: object) -> Desk:
        made.append(Desk(*args, **options))  # type: ignore[arg-type]  # the arguments are those of Desk
        return made[-1]

    yield make
    for each in made:
        each.close()
