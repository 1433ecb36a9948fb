"""Each service from the first source that has it: the environment, then containers, then this machine.

What is to be had nowhere is a skip with a name on a person's machine and an error where `KTMS_CHAOS=required` says
that nothing may be skipped.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeVar

from chaos.services.containers import Containers
from chaos.services.environment import Environment
from chaos.services.local import Local
from chaos.services.service import ServiceFailed, Services, Source, Unavailable

REQUIRED = "KTMS_CHAOS"
"""The variable that, set to `required`, makes what is missing an error."""

SOURCE = "KTMS_CHAOS_SOURCE"
"""The variable that names the one source to ask, so that nothing comes from another one unnoticed."""

T = TypeVar("T")


def is_required(variables: Mapping[str, str] = os.environ) -> bool:  # noqa: TID251  # what the person wants
    """Whether nothing may be skipped."""
    return variables.get(REQUIRED) == "required"


def sources(variables: Mapping[str, str] = os.environ) -> tuple[Source, ...]:  # noqa: TID251  # where services are
    """Give all sources in the order in which they are asked, or the one that is named.

    Raises:
        ServiceFailed: none has that name.
    """
    known = (Environment(variables), Containers(variables), Local())
    only = variables.get(SOURCE)
    if not only:
        return known
    named = tuple(source for source in known if source.name == only)
    if not named:
        raise ServiceFailed(f"{SOURCE} names no source: it is one of {', '.join(each.name for each in known)}")
    return named


@asynccontextmanager
async def chosen_services(
    asked: Sequence[Source] | None = None, *, required: bool | None = None
) -> AsyncIterator[Services]:
    """Run all services; `asked` and `required` are what the environment says, unless given.

    Raises:
        Unavailable: one is to be had nowhere, and need not be.
        ServiceFailed: one does not run, or is required and to be had nowhere.
    """
    able, missing = await _able(sources() if asked is None else asked)
    async with AsyncExitStack() as opened:
        try:
            services = Services(
                await _first(opened, "Postgres", [(each.name, each.postgres) for each in able], missing),
                await _first(opened, "Redis", [(each.name, each.redis) for each in able], missing),
                await _first(opened, "Toxiproxy", [(each.name, each.toxiproxy) for each in able], missing),
            )
        except Unavailable as error:
            if is_required() if required is None else required:
                raise ServiceFailed(f"{error.why} ({REQUIRED}=required)") from error
            raise
        yield services


async def _able(asked: Sequence[Source]) -> tuple[list[Source], list[str]]:
    able, missing = [], []
    for source in asked:
        why = await source.ready()
        if why is None:
            able.append(source)
        else:
            missing.append(f"{source.name}: {why}")
    return able, missing


async def _first(
    opened: AsyncExitStack,
    what: str,
    ways: Sequence[tuple[str, Callable[[], AbstractAsyncContextManager[T]]]],
    missing: Sequence[str],
) -> T:
    reasons = list(missing)
    for name, way in ways:
        try:
            return await opened.enter_async_context(way())
        except Unavailable as error:
            reasons.append(f"{name}: {error.why}")
    raise Unavailable(f"no {what}; " + "; ".join(reasons))
