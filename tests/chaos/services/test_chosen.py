from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from chaos.services.chosen import chosen_services, is_required, sources
from chaos.services.environment import GivenPostgres, GivenRedis, GivenToxiproxy
from chaos.services.service import Postgres, Redis, ServiceFailed, ToxiproxyServer, Unavailable


class Shelf:
    """A source with some services on it, which notes what is open."""

    def __init__(self, name: str, *has: str, why: str | None = None) -> None:
        self.name = name
        self.open: list[str] = []
        self._has = has
        self._why = why

    async def ready(self) -> str | None:
        return self._why

    @asynccontextmanager
    async def postgres(self) -> AsyncIterator[Postgres]:
        async with self._given("postgres"):
            yield GivenPostgres(f"postgresql://{self.name}/d")

    @asynccontextmanager
    async def redis(self) -> AsyncIterator[Redis]:
        async with self._given("redis"):
            yield GivenRedis(f"redis://{self.name}")

    @asynccontextmanager
    async def toxiproxy(self) -> AsyncIterator[ToxiproxyServer]:
        async with self._given("toxiproxy"):
            yield GivenToxiproxy(f"http://{self.name}")

    @asynccontextmanager
    async def _given(self, what: str) -> AsyncIterator[None]:
        if what not in self._has:
            raise Unavailable(f"no {what} here")
        self.open.append(what)
        try:
            yield
        finally:
            self.open.remove(what)


ALL = ("postgres", "redis", "toxiproxy")


def test_the_environment_is_asked_first_and_this_machine_last() -> None:
    assert [source.name for source in sources({})] == ["environment", "containers", "local"]


def test_one_source_alone_may_be_named() -> None:
    assert [source.name for source in sources({"KTMS_CHAOS_SOURCE": "containers"})] == ["containers"]


def test_a_source_that_is_not_known_is_told_with_those_that_are() -> None:
    with pytest.raises(ServiceFailed, match="it is one of environment, containers, local"):
        sources({"KTMS_CHAOS_SOURCE": "clouds"})


async def test_each_service_comes_from_the_first_that_has_it() -> None:
    async with chosen_services([Shelf("first", "redis"), Shelf("second", *ALL)]) as services:
        hosts = (services.postgres.address.host, services.redis.address.host, services.toxiproxy.address.host)
        assert hosts == ("second", "first", "second")


async def test_a_source_that_is_not_ready_is_not_asked() -> None:
    async with chosen_services([Shelf("first", *ALL, why="asleep"), Shelf("second", *ALL)]) as services:
        assert services.redis.address.host == "second"


async def test_what_was_open_is_closed_at_the_end() -> None:
    shelf = Shelf("only", *ALL)
    async with chosen_services([shelf]):
        assert shelf.open == ["postgres", "redis", "toxiproxy"]
    assert shelf.open == []


async def test_what_is_nowhere_tells_every_reason_in_one_line() -> None:
    shelf = Shelf("shelf", "postgres", "redis")
    with pytest.raises(Unavailable) as missing:
        async with chosen_services([Shelf("asleep", why="it sleeps"), shelf], required=False):
            pass
    assert missing.value.why == "no Toxiproxy; asleep: it sleeps; shelf: no toxiproxy here"
    assert shelf.open == []


async def test_what_is_required_and_nowhere_is_a_failure() -> None:
    with pytest.raises(ServiceFailed, match="no Postgres; shelf: no postgres here"):
        async with chosen_services([Shelf("shelf", "redis")], required=True):
            pass


@pytest.mark.parametrize(("set_to", "required"), [("required", True), ("1", False), ("", False)])
def test_only_the_word_requires(set_to: str, required: bool) -> None:
    assert is_required({"KTMS_CHAOS": set_to}) is required
