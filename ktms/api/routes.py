"""Routes of the HTTP port, and the answer to a request that none of them takes."""

from collections.abc import Awaitable, Callable, Mapping

from ktms.api.inbound import Inbound
from ktms.api.status_table import status_of
from ktms.api.wire import Dates, Reply, whole
from ktms.dialects.openai_chat.errors import error_body
from ktms.domain.errors import Problem

Handler = Callable[[Inbound], Awaitable[Reply]]
Routes = Mapping[str, Mapping[str, Handler]]
"""Exact target (without its query) to method to handler. A key that ends in `/` matches all that follows it."""


def refusal(
    request: Inbound,
    dates: Dates,
    cause: Problem,
    *,
    headers: tuple[tuple[str, str], ...] = (),
    keeps: bool | None = None,
) -> Reply:
    """Write a problem as an OpenAI error body with its status."""
    return whole(request, dates, status_of(cause), error_body(cause), headers=headers, keeps=keeps)
