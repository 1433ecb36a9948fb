"""Usage events for tests: whole ones, by number, that sort by time and never repeat."""

from ktms.domain.access.usage_event import AttemptStatus, UsageEvent
from ktms.domain.conversation.usage import Usage
from ktms.domain.ids import (
    EventId,
    KeyId,
    ModelName,
    RequestId,
    TenantName,
    VendorModel,
    VendorName,
    uuid7,
)

AT_S = 1_790_000_000.0
"""2026-09-21."""


def usage_event(number: int, *, at_s: float = AT_S, **members: object) -> UsageEvent:
    """Make the event of this number; `members` replace what it says."""
    chance = number.to_bytes(10, "big")
    said: dict[str, object] = {
        "id": EventId(uuid7(int(at_s * 1000), chance)),
        "request_id": RequestId(uuid7(int(at_s * 1000) - 1, chance)),
        "started_at": at_s - 0.5,
        "duration_s": 0.5,
        "first_token_s": 0.1,
        "tenant": TenantName("default"),
        "key_id": KeyId("0123456789"),
        "model": ModelName("small"),
        "chain": None,
        "vendor": VendorName("openai"),
        "node": None,
        "vendor_model": VendorModel("gpt"),
        "status": AttemptStatus.OK,
        "http_status": 200,
        "usage": Usage(100, 50, 10, 5, 20),
        "streamed": True,
        "cost_picos": 1_500_000,
        "cloud_picos": 1_500_000,
        "priced": True,
    }
    return UsageEvent(**(said | members))  # type: ignore[arg-type]  # the test names members, the constructor checks
