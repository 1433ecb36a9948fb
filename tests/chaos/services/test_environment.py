import pytest

from chaos.services.environment import Environment, GivenPostgres, GivenRedis
from chaos.services.free_port import free_port
from chaos.services.local_toxiproxy import LocalToxiproxy
from chaos.services.service import Address, Redis, ServiceFailed, Unavailable


async def test_an_environment_that_names_nothing_says_what_it_could_name() -> None:
    assert "KTMS_CHAOS_POSTGRES_URL" in str(await Environment({}).ready())


async def test_an_environment_that_names_one_service_is_ready() -> None:
    assert await Environment({"KTMS_CHAOS_REDIS_URL": "redis://h"}).ready() is None


async def test_what_is_not_named_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="KTMS_CHAOS_POSTGRES_URL is not set"):
        async with Environment({"KTMS_CHAOS_REDIS_URL": "redis://h"}).postgres():
            pass


async def test_a_redis_that_is_named_is_used_and_left_running(valkey: Redis) -> None:
    async with Environment({"KTMS_CHAOS_REDIS_URL": valkey.url()}).redis() as found:
        assert (found.address, found.url()) == (valkey.address, valkey.url())
    async with Environment({"KTMS_CHAOS_REDIS_URL": valkey.url()}).redis() as again:
        assert again.address == valkey.address


async def test_a_toxiproxy_that_is_named_is_used(toxiproxy: LocalToxiproxy) -> None:
    async with Environment({"KTMS_CHAOS_TOXIPROXY_URL": f"http://{toxiproxy.address}"}).toxiproxy() as found:
        assert found.address == toxiproxy.address


async def test_what_is_named_and_silent_is_a_failure_without_its_password() -> None:
    named = {"KTMS_CHAOS_POSTGRES_URL": f"postgresql://anna:secret@127.0.0.1:{free_port()}/x"}
    with pytest.raises(ServiceFailed, match="KTMS_CHAOS_POSTGRES_URL does not answer") as failed:
        async with Environment(named, within_s=0.05).postgres():
            pass
    assert "secret" not in failed.value.why


async def test_what_is_named_is_not_ours_to_break() -> None:
    for given in (GivenPostgres("postgresql://h/d"), GivenRedis("redis://h")):
        for act in (given.freeze, given.kill, given.start):
            with pytest.raises(Unavailable, match="not ours to stop"):
                await act()
        await given.thaw()


def test_a_named_postgres_gives_other_databases_by_way_of_a_proxy() -> None:
    given = GivenPostgres("postgresql://anna:secret@h/d")
    assert given.url("x", through=Address("127.0.0.1", 9)) == "postgresql://anna:secret@127.0.0.1:9/x"
