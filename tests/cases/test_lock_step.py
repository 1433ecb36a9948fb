"""Relay is immediate: the vendor's event k+1 may depend on the client having event k."""

from tests.world.catalogues import KEY, MODEL, catalogue, vendor
from tests.world.client import post
from tests.world.events import DONE, C, F
from tests.world.script import lock_step
from tests.world.world import World


async def test_the_vendor_sends_each_of_50_events_only_after_the_client_has_the_one_before(world: World) -> None:
    cloud = await world.vendor("cloud")
    words = [f"word-{number} " for number in range(50)]
    cloud.script(*lock_step(*(C(word) for word in words), F("stop"), DONE))
    gateway = await world.gateway(catalogue(vendor("cloud", cloud.url)))
    client = await world.client(gateway)
    client.send(post("/v1/chat/completions", {"model": MODEL, "stream": True, "messages": []}, key=KEY))

    got = []
    for _ in words:
        event = await client.event()
        assert event is not None
        got.append(event.json()["choices"][0]["delta"]["content"])
        cloud.acknowledge()
    assert got == words
