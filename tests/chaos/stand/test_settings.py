"""What judges are told of a stand."""

from chaos.stand.settings import StandSettings
from ktms.config.settings import Settings
from ktms.engine.settings import EngineSettings


def test_judges_are_told_of_every_node_and_vendor() -> None:
    told = StandSettings(slots=3).told()
    assert {told[f"slots:{node}"] for node in ("node-0", "node-1")} == {3}
    assert {told[f"keys:{cloud}"] for cloud in ("cloud-a", "cloud-b")} == {1}


def test_replicas_are_numbered_from_one() -> None:
    assert StandSettings(gateways=2).gateway_names == ("gw1", "gw2")


def test_what_the_documents_promise_is_what_the_product_does() -> None:
    told, kept = StandSettings().told(), EngineSettings()
    assert (told["call_total_s"], told["client_stall_s"]) == (kept.call_total_s, kept.client_stall_s)


def test_what_is_shipped_is_what_the_product_does_without_being_told() -> None:
    ours, shipped = StandSettings(key_window_s=10, slots=3).as_shipped(), Settings()
    for name in ("key_window_s", "drain_delay_s", "shutdown_timeout_s", "redis_timeout_ms"):
        assert getattr(ours, name) == getattr(shipped, name), name
    assert ours.slots == 3


def test_a_vendor_may_have_several_credentials_or_none() -> None:
    told = StandSettings(vendor_keys={"cloud-a": 2, "cloud-b": 0}).told()
    assert (told["keys:cloud-a"], told["keys:cloud-b"]) == (2, 0)
