"""One question per name at a time.

The loop answers with a thread of a small pool: a burst of calls to one name must not take all threads and make
every other vendor wait. Answers are not kept: the guard judges what is true now, and a vendor may move.
"""

import asyncio
from collections.abc import Awaitable, Callable

Addresses = tuple[str, ...]
_Outcome = Addresses | OSError | UnicodeError | None
"""None: whoever asked was cancelled, somebody else has to ask again."""


class Resolver:
    """Shares the answer among those who ask for the same name at the same time."""

    __slots__ = ("_asked", "_resolve")

    def __init__(self, resolve: Callable[[str, int], Awaitable[Addresses]]) -> None:
        self._resolve = resolve
        self._asked: dict[tuple[str, int], asyncio.Future[_Outcome]] = {}

    async def addresses(self, host: str, port: int) -> Addresses:
        """Give the addresses of a name.

        Raises:
            OSError: the name is not known, or the resolver is away.
            UnicodeError: the name is none.
        """
        outcome: _Outcome = None
        while outcome is None:
            asked = self._asked.get((host, port))
            outcome = await (self._ask(host, port) if asked is None else asyncio.shield(asked))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _ask(self, host: str, port: int) -> _Outcome:
        shared: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        self._asked[(host, port)] = shared
        outcome: _Outcome = None
        try:
            outcome = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            outcome = error
        finally:
            del self._asked[(host, port)]
            shared.set_result(outcome)
        return outcome
