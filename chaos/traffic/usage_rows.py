"""What the ledger has booked, as facts: one `usage` per row, and how many rows and sums there are.

A row does not say which gateway sent it; the call's own facts do, and the records that gateways logged. A row of a
call that nobody else knows is laid to the gateway that was killed next. Not here: who judges.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import asyncpg

from chaos.stand.run_journal import RunJournal

CONNECT_S = 5.0
READ_S = 20.0

SETTLED_WITHIN_S = 20.0
"""What gateways still held is sent within a second of the ledger's return; here it is waited for."""

LOOK_EVERY_S = 0.25
"""Between two countings of rows; when two are alike nothing comes any more."""

NOBODY = "nobody"
"""Sent a row of a call that no gateway and no client knows of."""

_ROWS = """
select id::text as id, request_id::text as request_id, extract(epoch from started_at)::float8 as started_at,
    duration_s, first_token_s, tenant, key_id, model, chain, vendor, node, vendor_model, status, http_status,
    prompt_tokens, completion_tokens, estimated, streamed, cost_picos, cloud_picos, priced, uncounted, from_cache,
    batch, batch_line
from ledger.usage_event order by started_at, id
"""

_COUNTS = """
select (select count(*) from ledger.usage_event)::int as rows,
    coalesce((select sum(attempts) from ledger.usage_day), 0)::int as summed
"""

Row = Mapping[str, Any]

LOCAL = "local"
"""The vendor that stands for machines of ours."""


@dataclass(frozen=True, slots=True)
class Booked:
    """What was found: the rows, their number, attempts by the sums of days."""

    found: tuple[Row, ...]
    rows: int
    summed: int

    @property
    def batch_lines(self) -> frozenset[str]:
        """The requests that were lines of batches."""
        return frozenset(row["request_id"] for row in self.found if row["batch"] is not None)


async def read_booked(ledger_url: str) -> Booked:
    """Wait until the ledger has all that comes, and read it."""
    connection = await asyncpg.connect(ledger_url, timeout=CONNECT_S, command_timeout=READ_S)
    try:
        await _settled(connection)
        found = await connection.fetch(_ROWS)
        counts = await connection.fetchrow(_COUNTS)
    finally:
        await connection.close(timeout=CONNECT_S)
    return Booked(tuple(map(dict, found)), counts["rows"], counts["summed"])


def note_usage(journal: RunJournal, booked: Booked) -> None:
    """Note what was booked; what gateways logged must have been noted before."""
    senders = _Senders(journal)
    for row in booked.found:
        _note(journal, senders, row)
    ids = " ".join(row["id"] for row in booked.found)
    for kept in (booked.rows, booked.summed):
        journal.note("usage_kept", "ledger", sender="all", ids=ids, fresh=len(booked.found), rows=kept)


async def _settled(connection: asyncpg.Connection) -> None:
    deadline = asyncio.get_running_loop().time() + SETTLED_WITHIN_S
    before = -1
    while (now := (await connection.fetchrow(_COUNTS))["rows"]) != before:
        if asyncio.get_running_loop().time() > deadline:
            return
        before = now
        await asyncio.sleep(LOOK_EVERY_S)


class _Senders:
    """Says which gateway a request was made through."""

    def __init__(self, journal: RunJournal) -> None:
        self._by_request: dict[str, str] = {}
        sent_to = {fact.text("call"): fact.text("gateway") for fact in journal.of("call_sent")}
        for fact in journal.of("call_begun", "call_ended"):
            self._by_request[fact.text("request_id")] = sent_to[fact.text("call")]
        for fact in journal.of("record", "line_record"):
            self._by_request[fact.text("request_id")] = fact.host
        self._deaths = sorted((fact.at, fact.host) for fact in journal.of("host_crashed"))

    def of(self, request_id: str, at: float) -> str:
        """Give the gateway of a request that was booked at this moment."""
        died_next = next((host for died_at, host in self._deaths if died_at >= at), NOBODY)
        return self._by_request.get(request_id, died_next)


def _note(journal: RunJournal, senders: _Senders, row: Row) -> None:
    at = journal.of_wall(row["started_at"] + row["duration_s"])
    vendor, node = row["vendor"], row["node"]
    plain = ("id", "batch_line", "started_at")
    members = {name: value for name, value in row.items() if name not in plain}
    journal.note_at(
        at,
        "usage",
        senders.of(row["request_id"], at),
        **members,
        event_id=row["id"],
        target=node if vendor == LOCAL else vendor,
        key=row["key_id"],
        started_at=row["started_at"],
        line=row["batch_line"],
    )
