"""What gateways say that they have lost of usage events, as facts: nobody knows which ones.

It is read before they leave; of a process that was killed nobody can tell. Not here: what was booked
(`usage_rows.py`).
"""

from chaos.stand.stand import Stand

DROPPED = "ktms_usage_events_dropped_total"


async def note_lost(running: Stand) -> None:
    """Note for every gateway that lost some how many it has counted."""
    for gateway in running.gateways:
        counted = await gateway.metric(DROPPED)
        if counted:
            running.journal.note("usage_lost", gateway.name, amount=counted)
