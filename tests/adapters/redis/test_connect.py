import pytest

from ktms.adapters.redis.connect import RedisAway, RedisProbe
from tests.adapters.redis.stand_in import StandIn


async def test_a_server_that_answers_is_there(valkey_url: str) -> None:
    probe = RedisProbe(valkey_url, 1.0)
    await probe.ping()
    await probe.close()


async def test_any_server_of_a_cluster_will_do(valkey_url: str) -> None:
    probe = RedisProbe(valkey_url.replace("redis://", "redis+cluster://"), 1.0)
    await probe.ping()
    await probe.close()


async def test_a_refused_connection_is_away(valkey_url: str) -> None:
    closed = valkey_url.rsplit(":", 1)[0] + ":1/0"
    probe = RedisProbe(closed, 1.0)
    with pytest.raises(RedisAway, match="away"):
        await probe.ping()
    await probe.close()


async def test_a_wrong_password_is_away_and_not_shown(valkey_url: str) -> None:
    probe = RedisProbe("redis://:wrong-secret@" + valkey_url.split("@")[1], 1.0)
    with pytest.raises(RedisAway, match="error") as told:
        await probe.ping()
    assert "wrong-secret" not in str(told.value)
    await probe.close()


async def test_a_server_that_never_answers_is_away_within_the_timeout(silent_port: int) -> None:
    probe = RedisProbe(f"redis://127.0.0.1:{silent_port}/0", 0.1)
    with pytest.raises(RedisAway, match="timeout"):
        await probe.ping()
    await probe.close()


async def test_a_server_that_is_not_ready_is_away(stand_in: StandIn) -> None:
    stand_in.refusal = b"-LOADING Redis is loading the dataset in memory"
    probe = RedisProbe(stand_in.url, 1.0)
    with pytest.raises(RedisAway, match="error"):
        await probe.ping()
    stand_in.refusal = None
    await probe.ping()
    await probe.close()


async def test_closing_twice_is_harmless(valkey_url: str) -> None:
    probe = RedisProbe(valkey_url, 1.0)
    await probe.ping()
    await probe.close()
    await probe.close()
