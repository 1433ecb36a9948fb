"""Which proxy leads where."""

from chaos.proxy.proxy import Proxy
from chaos.services.service import Address
from chaos.stand.ways import Ways


class Made:
    """Says of each way that it listens on another port."""

    def __init__(self) -> None:
        self.names: list[str] = []

    async def proxy(self, name: str, upstream: Address) -> Proxy:
        self.names.append(name)
        made = Proxy.__new__(Proxy)
        made.name, made.upstream, made.listens = name, upstream, Address("127.0.0.1", len(self.names))
        return made


REDIS = Address("127.0.0.1", 6379)


async def test_a_service_has_one_proxy_for_all_replicas() -> None:
    ways, made = Ways(frozenset(), ("gw1", "gw2")), Made()
    await ways.lead_to("redis", REDIS, made)
    assert made.names == ["redis"]
    assert ways.of("redis", "gw1") is ways.of("redis", "gw2") is ways["redis"]


async def test_a_service_apart_has_a_proxy_for_each_replica() -> None:
    ways, made = Ways(frozenset({"redis"}), ("gw1", "gw2")), Made()
    await ways.lead_to("redis", REDIS, made)
    assert made.names == ["redis-gw1", "redis-gw2"]
    assert ways.of("redis", "gw1") is not ways.of("redis", "gw2")
    assert [proxy.name for proxy in ways.all_to("redis")] == made.names


async def test_what_has_no_proxy_is_reached_itself() -> None:
    ways, made = Ways(frozenset(), ("gw1",)), Made()
    await ways.lead_to("node-0", REDIS, made)
    found = ways.listens({"node-0": REDIS, "node-1": REDIS})
    assert found == {"node-0": Address("127.0.0.1", 1), "node-1": REDIS}
