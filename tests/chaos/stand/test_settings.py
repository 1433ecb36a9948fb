"""What judges are told of a stand."""

from chaos.stand.settings import StandSettings
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
