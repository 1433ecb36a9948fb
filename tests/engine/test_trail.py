from ktms.domain.ids import LOCAL, NodeName, VendorName
from ktms.engine.place import Placer
from ktms.engine.trail import Trail
from tests.engine.rig import Rig, client_key, snapshot

ALPHA, MAC = VendorName("alpha"), NodeName("mac-1")


def told(trail: Trail, now: float, *, answering: bool | None = None) -> dict[str, str]:
    return dict(trail.headers(now, answering=answering))


async def test_before_anything_was_decided_there_is_the_id_and_the_time(rig: Rig) -> None:
    call = rig.call()
    headers = told(Trail(call), call.received_at + 0.25)
    assert headers == {
        "X-Request-Id": call.request_id,
        "X-KTMS-Cache": "off",
        "Server-Timing": "gateway;dur=250.00, queue;dur=0.00, upstream;dur=0.00",
    }


async def test_a_chain_is_told_beside_the_model_that_served(rig: Rig) -> None:
    call = rig.call("auto")
    trail = Trail(call, key=client_key())
    found = snapshot()
    trail.decision = Placer(0).place(found, call, client_key()).decision
    trail.model = trail.decision.models[0]
    headers = told(trail, call.received_at)
    assert (headers["X-KTMS-Chain"], headers["X-KTMS-Model"]) == ("auto", "cloudy")
    assert headers["X-KTMS-Placement"] == "nodes_first"


async def test_attempts_are_told_in_order(rig: Rig) -> None:
    trail = Trail(rig.call())
    trail.note(LOCAL, MAC, "busy")
    trail.note(ALPHA, None, "500")
    assert told(trail, trail.call.received_at)["X-KTMS-Attempts"] == "local/mac-1:busy, alpha:500"


async def test_the_attempt_that_answers_counts_as_one_that_did(rig: Rig) -> None:
    trail = Trail(rig.call())
    trail.note(LOCAL, MAC, "refused")
    trail.vendor = ALPHA
    headers = told(trail, trail.call.received_at, answering=True)
    assert headers["X-KTMS-Attempts"] == "local/mac-1:refused, alpha:ok"
    assert (headers["X-KTMS-Vendor"], "X-KTMS-Node" in headers) == ("alpha", False)


async def test_a_node_is_told_beside_its_vendor(rig: Rig) -> None:
    trail = Trail(rig.call())
    trail.vendor, trail.node = LOCAL, MAC
    headers = told(trail, trail.call.received_at, answering=True)
    assert (headers["X-KTMS-Vendor"], headers["X-KTMS-Node"]) == ("local", "mac-1")
    assert headers["X-KTMS-Attempts"] == "local/mac-1:ok"


async def test_times_are_told_apart_and_make_the_whole(rig: Rig) -> None:
    trail = Trail(rig.call())
    trail.queue_s, trail.upstream_s = 0.5, 1.0
    timing = told(trail, trail.call.received_at + 1.75)["Server-Timing"]
    assert timing == "gateway;dur=250.00, queue;dur=500.00, upstream;dur=1000.00"


async def test_the_attempt_under_way_is_the_upstreams_time_not_ours(rig: Rig) -> None:
    trail = Trail(rig.call())
    trail.upstream_s, trail.asking_since = 1.0, trail.call.received_at + 2
    timing = told(trail, trail.call.received_at + 12)["Server-Timing"]
    assert timing == "gateway;dur=1000.00, queue;dur=0.00, upstream;dur=11000.00"


async def test_our_own_share_is_never_below_nought(rig: Rig) -> None:
    trail = Trail(rig.call())
    trail.upstream_s = 5.0
    assert told(trail, trail.call.received_at)["Server-Timing"].startswith("gateway;dur=0.00")


async def test_the_vendors_own_id_is_told(rig: Rig) -> None:
    trail = Trail(rig.call())
    trail.upstream_id = "req_123"
    assert told(trail, 0)["X-KTMS-Upstream-Id"] == "req_123"


async def test_nobody_is_named_as_who_served_while_nobody_has_begun(rig: Rig) -> None:
    """The headers of a silent stream go out before it is known who will answer."""
    trail = Trail(rig.call())
    trail.vendor, trail.node, trail.upstream_id = VendorName("local"), NodeName("mac-1"), "req_123"
    trail.model = snapshot().models[0]
    headers = told(trail, 0, answering=False)
    assert not headers.keys() & {"X-KTMS-Vendor", "X-KTMS-Node", "X-KTMS-Model", "X-KTMS-Upstream-Id"}
    assert {"X-KTMS-Vendor", "X-KTMS-Node", "X-KTMS-Model"} <= told(trail, 0, answering=True).keys()
