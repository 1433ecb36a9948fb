"""What is sent where no model answers, as steps. Not here: what it says (`dialect.py`, `engines/`, `vendors/`)."""

from dataclasses import replace

from sim.fakes.dialect import Break, Page
from sim.fakes.steps import Head, Piece, Steps

Headers = tuple[tuple[str, str], ...]


def written(page: Page) -> Steps:
    """Send a page."""
    yield Head(page.status, page.content_type, page.headers, length=len(page.body))
    if page.body:
        yield Piece(page.body)


def broken(end: Break) -> Steps:
    """End a stream that has begun by a failure of its engine."""
    yield Piece(end.data)


def meaning(page: Page, means: str, headers: Headers = ()) -> Page:
    """Let a page stand for a row of the failure matrix, with headers of its own."""
    return replace(page, headers=page.headers + headers, means=means)


def nothing() -> Steps:
    """Give no step."""
    yield from ()
