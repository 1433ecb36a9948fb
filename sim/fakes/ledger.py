"""The ledger of one replica: each usage event becomes a fact, and nothing is kept."""

from ktms.domain.access.usage_event import UsageEvent
from ktms.domain.ids import LOCAL
from sim.journal.journal import Journal


class JournalLedger:
    """Implements the `Ledger` port. `taken_total` counts the events."""

    def __init__(self, host: str, journal: Journal) -> None:
        self._host = host
        self._journal = journal
        self.taken_total = 0

    def record(self, event: UsageEvent) -> None:
        """Note one event; its target is the node for a machine of ours, else the vendor."""
        self.taken_total += 1
        usage = event.usage
        self._journal.note(
            "usage",
            self._host,
            event_id=event.id,
            request_id=event.request_id,
            target=event.node if event.vendor == LOCAL else event.vendor,
            node=event.node,
            status=event.status.value,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            estimated=usage.estimated,
            vendor=event.vendor,
            model=event.model,
            chain=event.chain,
            vendor_model=event.vendor_model,
            key=event.key_id,
            tenant=event.tenant,
            http_status=event.http_status,
            streamed=event.streamed,
            started_at=event.started_at,
            duration_s=event.duration_s,
            first_token_s=event.first_token_s,
        )

    async def flush(self) -> None:
        """Hand on nothing: what was taken is in the journal already."""
