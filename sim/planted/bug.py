"""What a planted bug is, and how it gets into the running program and out again.

A bug is an edit of one place of production code: in the source of one function, one piece of text becomes another.
The function's code object is swapped in place, so whoever imported the function has the bug too. An edit that does
not fit any more is an error: the bug must be planted anew where the decision has moved to.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType


class BugUnfit(Exception):
    """The place that a bug alters is not there any more, or more than once."""


@dataclass(frozen=True, slots=True)
class Bug:
    """One bug. `place` is what it sits in, decorated or not; it must be found within `seeds_max` seeds."""

    id: str
    title: str
    place: Callable[..., object] | property
    old: str
    new: str
    scenario: str
    seeds_max: int = 200


def planted(bug: Bug) -> AbstractContextManager[None]:
    """Have the bug in the program while the block runs.

    Raises:
        BugUnfit: its place has changed.
    """
    return altered(bug.id, bug.place, bug.old, bug.new)


@contextmanager
def altered(name: str, place: Callable[..., object] | property, old: str, new: str) -> Iterator[None]:
    """Have `new` instead of `old` in the source of one function while the block runs.

    Raises:
        BugUnfit: the old text does not stand there exactly once.
    """
    decorated = place.fget if isinstance(place, property) else place
    assert decorated is not None, name
    function = inspect.unwrap(decorated)
    assert isinstance(function, FunctionType), name
    sound = function.__code__
    function.__code__ = _altered(name, function, old, new)
    try:
        yield
    finally:
        function.__code__ = sound


def _altered(name: str, function: FunctionType, old: str, new: str) -> CodeType:
    source = textwrap.dedent(inspect.getsource(function))
    while source.startswith("@"):  # the decorators stay what they are
        source = source.partition("\n")[2]
    if source.count(old) != 1:
        raise BugUnfit(f"{name}: its text stands {source.count(old)} times in {function.__qualname__}")
    text = compile(source.replace(old, new), f"<planted {name}>", "exec")
    made: dict[str, FunctionType] = {}
    exec(text, function.__globals__, made)  # noqa: S102 - our own source with our own edit: that is the point
    (function_with_it,) = made.values()
    if function_with_it.__code__.co_freevars != function.__code__.co_freevars:
        raise BugUnfit(f"{name}: {function.__qualname__} closes over variables")
    return function_with_it.__code__
