import resource
from collections.abc import Callable

import pytest

from ktms.adapters.system.open_files import raise_open_files

INFINITY = resource.RLIM_INFINITY

Limits = tuple[int, int]


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], list[Limits]]:
    """Let the system say these limits; gives those that are set."""

    def limit(soft: int, hard: int) -> list[Limits]:
        asked: list[Limits] = []
        monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
        monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
        return asked

    return limit


@pytest.mark.parametrize(
    ("soft", "hard", "given", "asked"),
    [
        (1024, 4096, 4096, [(4096, 4096)]),
        (1024, 500_000, 60_000, [(60_000, 500_000)]),
        (1024, INFINITY, 60_000, [(60_000, INFINITY)]),
        (70_000, 80_000, 70_000, []),
        (INFINITY, INFINITY, 60_000, []),
        (4096, 4096, 4096, []),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_it_may_and_no_further(
    limited: Callable[[int, int], list[Limits]], soft: int, hard: int, given: int, asked: list[Limits]
) -> None:
    set_to = limited(soft, hard)
    assert raise_open_files(60_000) == given
    assert set_to == asked


def test_this_process_may_open_as_many_as_it_is_told() -> None:
    assert raise_open_files(1) == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
