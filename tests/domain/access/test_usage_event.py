"""What the accounting service is told."""

from dataclasses import fields

from ktms.domain.access.usage_event import AttemptStatus, UsageEvent


def test_an_event_has_no_place_for_content() -> None:
    assert {part.name for part in fields(UsageEvent)} == {
        "id",
        "request_id",
        "started_at",
        "duration_s",
        "first_token_s",
        "tenant",
        "key_id",
        "model",
        "chain",
        "vendor",
        "node",
        "vendor_model",
        "status",
        "http_status",
        "usage",
        "streamed",
        "cost_picos",
        "cloud_picos",
        "priced",
        "uncounted",
        "from_cache",
        "batch_line",
    }


def test_an_attempt_ends_in_one_of_five_ways() -> None:
    assert [status.value for status in AttemptStatus] == ["ok", "failed", "refused", "interrupted", "cancelled"]
