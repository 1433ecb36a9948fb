"""What a planted bug is, and how it gets into the running program and out again.

A bug is an edit of one place of production code: in the source of one function, one piece of text becomes another.
The function's code object is swapped in place, so whoever imported the function has the bug too. An edit that does
not fit any more is an error: the bug must be planted anew where the decision has moved to.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """Have the bug in the program while the block runs.

    Raises:
        BugUnfit: its place has changed.
    """
    decorated = bug.place.fget if isinstance(bug.place, property) else bug.place
    assert decorated is not None, bug.id
    function = inspect.unwrap(decorated)
    assert isinstance(function, FunctionType), bug.id
    sound = function.__code__
    function.__code__ = _altered(bug, function)
    try:
        yield
    finally:
        function.__code__ = sound


def _altered(bug: Bug, function: FunctionType) -> CodeType:
    source = textwrap.dedent(inspect.getsource(function))
    while source.startswith("@"):  # the decorators stay what they are
        source = source.partition("\n")[2]
    if source.count(bug.old) != 1:
        raise BugUnfit(f"{bug.id}: its text stands {source.count(bug.old)} times in {function.__qualname__}")
    text = compile(source.replace(bug.old, bug.new), f"<planted {bug.id}>", "exec")
    made: dict[str, FunctionType] = {}
    exec(text, function.__globals__, made)  # noqa: S102 - our own source with our own edit: that is the point
    (altered,) = made.values()
    if altered.__code__.co_freevars != function.__code__.co_freevars:
        raise BugUnfit(f"{bug.id}: {function.__qualname__} closes over variables")
    return altered.__code__
