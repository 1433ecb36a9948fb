import pytest

from ktms.app.gateway import GatewaySettings
from ktms.domain.access.key_form import KeyKind, make_key
from tests.api.house import PAGE, House, house_of
from tests.api.wire_client import ask, request
from tests.engine.rig import CATALOGUE

UNKNOWN = make_key(KeyKind.CLIENT, lambda count: bytes([7] * count))


async def test_a_gateway_that_turns_is_alive_whatever_else_is_missing(house: House) -> None:
    house.store.away = True
    answer = await house.get("/healthz", key=None)
    assert (answer.status, answer.json) == (200, {"status": "alive"})


async def test_before_postgres_answered_nothing_is_ready(house: House) -> None:
    answer = await house.get("/readyz", key=None)
    assert (answer.status, answer.json["status"]) == (503, "unready")


async def test_a_gateway_with_everything_is_ready(house: House) -> None:
    await house.get("/v1/models")
    answer = await house.get("/readyz", key=None)
    assert (answer.status, answer.json) == (200, {"status": "ok", "reasons": [], "snapshot": 1})


async def test_without_postgres_a_gateway_that_knows_keys_is_degraded_and_ready(house: House) -> None:
    await house.get("/v1/models")
    house.store.away = True
    assert (await house.get("/v1/models", key=f"x-api-key: {UNKNOWN}")).status == 503
    answer = await house.get("/readyz", key=None)
    assert (answer.status, answer.json["status"]) == (200, "degraded")
    assert answer.json["reasons"] == ["postgres_away"]


async def test_without_a_configuration_nothing_is_ready() -> None:
    house = House(GatewaySettings(), CATALOGUE)
    house.store.away = True
    house.port = await house.gateway.start("127.0.0.1", 0)
    answer = await house.get("/readyz", key=None)
    assert (answer.status, answer.json["snapshot"]) == (503, 0)
    assert "no_snapshot" in answer.json["reasons"]
    assert (await house.get("/healthz", key=None)).status == 200
    await house.gateway.stop()


async def test_a_gateway_that_leaves_says_so_at_once_and_still_serves() -> None:
    async with house_of(GatewaySettings(drain_delay_s=30)) as house:
        house.gateway._drain.leave()
        answer = await house.get("/readyz", key=None)
        assert (answer.status, answer.json["status"]) == (503, "draining")
        assert (await house.get("/v1/models")).status == 200
        assert (await house.get("/healthz", key=None)).status == 200


async def test_the_metrics_page_is_given_as_it_is(house: House) -> None:
    answer = await house.get("/metrics", key=None)
    assert (answer.status, answer.body) == (200, PAGE)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


async def test_the_metrics_may_have_a_port_of_their_own() -> None:
    async with house_of(GatewaySettings(metrics_apart=True)) as house:
        port = await house.gateway.start_metrics("127.0.0.1", 0)
        apart = await ask(port, request("/metrics"))
        assert (apart.status, apart.body) == (200, PAGE)
        assert (await ask(port, request("/v1/models"))).status == 404
        assert (await house.get("/metrics", key=None)).status == 404


@pytest.mark.parametrize("target", ["/healthz", "/readyz", "/metrics"])
async def test_health_is_asked_for_by_get_alone(house: House, target: str) -> None:
    answer = await ask(house.port, request(target, method="POST", body=b""))
    assert (answer.status, answer.headers["allow"]) == (405, "GET")
