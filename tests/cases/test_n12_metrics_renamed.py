"""N12: an engine whose metrics have other names, or that has none, is of unknown load: neither idle nor ill."""

import pytest

from ktms.ports.telemetry import Gauge
from tests.cases.calls import call
from tests.cases.forms import CHAT
from tests.world.catalogues import catalogue, node
from tests.world.script import Step, fin, status
from tests.world.vendor import page
from tests.world.world import GatewayUnderTest, World

CLOSES = (("Connection", "close"),)
RUNNING = b'vllm:num_requests_running{engine="0"} 2.0\n'
CACHE = b'vllm:%b_cache_usage_perc{engine="0"} 0.75\n'

NOTHING_TOLD: dict[str, tuple[Step, ...]] = {
    "404": (*status(404, headers=CLOSES), fin()),
    "501": (*status(501, headers=CLOSES), fin()),
    "500": (*status(500, headers=CLOSES), fin()),
    "cut": (fin(),),
    "other names": page(b"vllm:num_requests_active 8\nvllm:cache_usage 0.9\n"),
    "another page": page(b"<html>hello</html>"),
    "no text": page(b"\xff\xfe\x00"),
}


async def gateway_of(world: World, metrics: tuple[Step, ...]) -> GatewayUnderTest:
    vendor = await world.vendor("upstream")
    vendor.pages["/metrics"] = metrics
    vendor.standing(CHAT.healthy())
    return await world.gateway(catalogue(nodes=(node("upstream", vendor.listening),)))


@pytest.mark.parametrize("name", [b"kv", b"gpu"])
async def test_the_cache_is_read_by_either_name(world: World, name: bytes) -> None:
    gateway = await gateway_of(world, page(RUNNING + CACHE % name))
    await gateway.telemetry.shows(Gauge.NODE_ENGINE_CALLS, 2, "upstream")
    await gateway.telemetry.shows(Gauge.NODE_KV_USED, 0.75, "upstream")


@pytest.mark.parametrize("metrics", NOTHING_TOLD.values(), ids=NOTHING_TOLD)
async def test_what_tells_nothing_is_unknown_and_the_node_is_well(world: World, metrics: tuple[Step, ...]) -> None:
    gateway = await gateway_of(world, metrics)
    await gateway.telemetry.shows(Gauge.NODE_SLOTS_BUSY, 0, "upstream")
    assert (await call(world, gateway, CHAT)).attempts == "local/upstream:ok"
    assert (Gauge.NODE_ENGINE_CALLS, "upstream") not in gateway.telemetry.gauges
    assert gateway.telemetry.gauges.get((Gauge.NODE_HEALTH, "upstream"), 0) == 0
