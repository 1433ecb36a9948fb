"""Services that run already, named by URLs in the environment: used, never stopped.

    KTMS_CHAOS_POSTGRES_URL    postgresql://user:password@host:port/database, a user who may create databases
    KTMS_CHAOS_REDIS_URL       redis://:password@host:port/0, a server that may be emptied
    KTMS_CHAOS_TOXIPROXY_URL   http://host:port, a server whose proxies may be deleted

They are not ours to freeze or kill: experiments that need that are passed over by name.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import NoReturn

from chaos.services.answers import postgres_answers, redis_answers, toxiproxy_answers, until_it_answers
from chaos.services.service import Address, Postgres, Redis, ToxiproxyServer, Unavailable
from chaos.services.urls import address_in, rerouted

POSTGRES_URL = "KTMS_CHAOS_POSTGRES_URL"
REDIS_URL = "KTMS_CHAOS_REDIS_URL"
TOXIPROXY_URL = "KTMS_CHAOS_TOXIPROXY_URL"

ANSWER_WITHIN_S = 10.0
"""What runs already answers at once; a container beside us may still be starting."""


class Environment:
    """The source; `variables` is the environment."""

    def __init__(self, variables: Mapping[str, str], *, within_s: float = ANSWER_WITHIN_S) -> None:
        self.name = "environment"
        self._within_s = within_s
        self._variables = variables

    async def ready(self) -> str | None:
        """Give None, or one line that says why nothing comes from here."""
        known = (POSTGRES_URL, REDIS_URL, TOXIPROXY_URL)
        return None if any(map(self._variables.get, known)) else f"none of {', '.join(known)} is set"

    @asynccontextmanager
    async def postgres(self) -> AsyncIterator[Postgres]:
        """Use the one that is named."""
        found = GivenPostgres(self._given(POSTGRES_URL))
        await until_it_answers(found.name, partial(postgres_answers, found.given_url), within_s=self._within_s)
        yield found

    @asynccontextmanager
    async def redis(self) -> AsyncIterator[Redis]:
        """Use the one that is named."""
        found = GivenRedis(self._given(REDIS_URL))
        await until_it_answers(found.name, partial(redis_answers, found.url()), within_s=self._within_s)
        yield found

    @asynccontextmanager
    async def toxiproxy(self) -> AsyncIterator[ToxiproxyServer]:
        """Use the one that is named."""
        found = GivenToxiproxy(self._given(TOXIPROXY_URL))
        await until_it_answers(found.name, partial(toxiproxy_answers, found.address), within_s=self._within_s)
        yield found

    def _given(self, variable: str) -> str:
        url = self._variables.get(variable)
        if not url:
            raise Unavailable(f"{variable} is not set")
        return url


class _NotOurs:
    """What may be used and not broken."""

    def __init__(self, variable: str, address: Address) -> None:
        self.name = variable
        self.address = address

    async def freeze(self) -> None:
        """Refuse.

        Raises:
            Unavailable: always.
        """
        self._refuse()

    async def thaw(self) -> None:
        """Do nothing: it was never frozen."""

    async def kill(self) -> None:
        """Refuse.

        Raises:
            Unavailable: always.
        """
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise Unavailable(f"what {self.name} names is not ours to stop: unset it, and one is started here")


class GivenPostgres(_NotOurs):
    """The Postgres of a URL."""

    def __init__(self, url: str) -> None:
        super().__init__(POSTGRES_URL, address_in(url, variable=POSTGRES_URL, default_port=5432))
        self.given_url = url

    def url(self, database: str = "postgres", *, through: Address | None = None) -> str:
        """Give the URL of a database, by way of a proxy."""
        return rerouted(self.given_url, through, database=database)

    async def start(self) -> None:
        """Refuse.

        Raises:
            Unavailable: always.
        """
        self._refuse()


class GivenRedis(_NotOurs):
    """The Redis of a URL."""

    def __init__(self, url: str) -> None:
        super().__init__(REDIS_URL, address_in(url, variable=REDIS_URL, default_port=6379))
        self._given_url = url

    def url(self, *, through: Address | None = None) -> str:
        """Give its URL, by way of a proxy."""
        return rerouted(self._given_url, through)

    async def start(self, *, empty: bool = False) -> None:  # noqa: ARG002  # the shape of the port
        """Refuse.

        Raises:
            Unavailable: always.
        """
        self._refuse()


class GivenToxiproxy:
    """The Toxiproxy of a URL."""

    def __init__(self, url: str) -> None:
        self.name = TOXIPROXY_URL
        self.address = address_in(url, variable=TOXIPROXY_URL, default_port=8474)
