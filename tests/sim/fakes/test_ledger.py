import pytest

from ktms.domain.access.usage_event import AttemptStatus, UsageEvent
from ktms.domain.conversation.usage import Usage
from ktms.domain.ids import (
    LOCAL,
    EventId,
    KeyId,
    ModelName,
    NodeName,
    RequestId,
    TenantName,
    VendorModel,
    VendorName,
)
from sim.fakes.ledger import JournalLedger
from sim.journal.fact import Value
from sim.journal.journal import Journal


def event(vendor: VendorName, node: NodeName | None) -> UsageEvent:
    return UsageEvent(
        id=EventId("event-1"),
        request_id=RequestId("request"),
        started_at=1_790_000_000.0,
        duration_s=0.1,
        first_token_s=None,
        tenant=TenantName("default"),
        key_id=KeyId("0123456789"),
        model=ModelName("small"),
        chain=None,
        vendor=vendor,
        node=node,
        vendor_model=VendorModel("gpt"),
        status=AttemptStatus.INTERRUPTED,
        http_status=200,
        usage=Usage(prompt_tokens=3, completion_tokens=5, estimated=True),
        streamed=True,
    )


@pytest.mark.parametrize(
    ("vendor", "node", "target"), [("openai", None, "openai"), (LOCAL, NodeName("mac-1"), "mac-1")]
)
def test_the_target_is_the_node_or_else_the_vendor(vendor: VendorName, node: NodeName | None, target: str) -> None:
    journal = Journal(lambda: 0.0)
    JournalLedger("gw1", journal).record(event(vendor, node))
    assert journal.facts[0].text("target") == target


def test_an_event_is_a_fact_with_its_amounts() -> None:
    journal = Journal(lambda: 0.0)
    JournalLedger("gw1", journal).record(event(VendorName("openai"), None))
    wanted: dict[str, Value] = {
        "status": "interrupted",
        "prompt_tokens": 3,
        "completion_tokens": 5,
        "estimated": True,
    }
    assert journal.has("usage", event_id="event-1", request_id="request", **wanted)
