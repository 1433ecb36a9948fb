"""A client with one batch: it uploads lines, has the batch made, waits for its end, and reads its results.

What it was told is noted, and what Postgres has stored of each line, so that the judge of batches reads it. Names
of lines begin as that judge expects. Not here: when it asks (`chaos/experiments`).
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
import asyncpg

from chaos.stand.asked import CANARY
from chaos.stand.run_journal import RunJournal
from chaos.stand.settings import MODEL
from chaos.traffic.question import PATH

HOST = "client"

ASK_S = 15.0
"""No door of files and batches takes longer here."""

ENDS_WITHIN_S = 40.0
"""A few lines take a second; their replica may just have found its database again."""

POLL_S = 0.3

LINE = "batch"
"""Begins the name of a line, as targets see it."""

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})

_STORED = (
    "select number, claim, state from batch_line where batch_id = $1::uuid and state <> 'waiting' order by number"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; `body` is empty where it is no JSON object, `status` 0 where nobody answered."""

    status: int
    body: Mapping[str, object]

    @property
    def code(self) -> str:
        """The code of an error; empty without one."""
        error = self.body.get("error")
        return str(error.get("code") or "") if isinstance(error, dict) else ""


class BatchClient:
    """One batch of a run; `number` names it. `urls` are those of the gateways, by name."""

    def __init__(self, number: int, urls: Mapping[str, str], token: str, journal: RunJournal) -> None:
        self._number = number
        self._urls = urls
        self._journal = journal
        self._headers = {"Authorization": f"Bearer {token}"}

    async def upload(self, gateway: str, lines: int) -> str:
        """Upload so many lines and give the id of their file."""
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", "\n".join(map(self._line, range(1, lines + 1))), filename="lines.jsonl")
        reply = await self._ask("POST", gateway, "/v1/files", data=form)
        assert reply.status == 200, reply
        return str(reply.body["id"])

    async def make(self, gateway: str, file: str, word: str) -> str | None:
        """Have the batch made, with this Idempotency-Key; gives its id, or None where it is not."""
        asked = {"input_file_id": file, "endpoint": PATH, "completion_window": "24h"}
        reply = await self._ask("POST", gateway, "/v1/batches", json=asked, headers={"Idempotency-Key": word})
        self._note("batch_asked", gateway=gateway, status=reply.status, code=reply.code)
        if reply.status != 200:
            return None
        batch = str(reply.body["id"])
        if not self._journal.has("batch_made", batch=batch):
            self._note("batch_made", batch=batch)
        return batch

    async def ended(self, gateway: str, batch: str, database_url: str) -> None:
        """Wait for its end, and note what came of it and what was stored.

        Raises:
            TimeoutError: it does not end.
        """
        async with asyncio.timeout(ENDS_WITHIN_S):
            told = await self._ask("GET", gateway, f"/v1/batches/{batch}")
            while told.body.get("status") not in ENDED:
                await asyncio.sleep(POLL_S)
                told = await self._ask("GET", gateway, f"/v1/batches/{batch}")
        await self._note_stored(batch, database_url)
        counts = told.body["request_counts"]
        assert isinstance(counts, dict)
        self._note(
            "batch_over",
            batch=batch,
            state=str(told.body["status"]),
            total=int(counts["total"]),
            completed=int(counts["completed"]),
            failed=int(counts["failed"]),
            done=await self._named(gateway, told.body["output_file_id"]),
            errors=await self._named(gateway, told.body["error_file_id"]),
        )

    def _line(self, number: int) -> str:
        name = f"{LINE}{self._number}-{number}"
        content = f"call={name} tokens=4 {CANARY}-{name}"
        body = {"model": MODEL, "messages": [{"role": "user", "content": content}]}
        return json.dumps({"custom_id": str(number), "method": "POST", "url": PATH, "body": body})

    async def _named(self, gateway: str, file: object) -> str:
        """Give the custom ids of a file of results, in its order."""
        if file is None:
            return ""
        text = await self._text("GET", gateway, f"/v1/files/{file}/content")
        return " ".join(str(json.loads(line)["custom_id"]) for line in text.splitlines())

    async def _note_stored(self, batch: str, database_url: str) -> None:
        connection = await asyncpg.connect(database_url, timeout=ASK_S, command_timeout=ASK_S)
        try:
            for number, claim, state in await connection.fetch(_STORED, batch.removeprefix("batch_")):
                self._journal.note("line_stored", HOST, batch=batch, line=str(number), claim=claim, end=state)
        finally:
            await connection.close(timeout=ASK_S)

    async def _ask(self, method: str, gateway: str, path: str, **more: object) -> Reply:
        try:
            text, status = await self._said(method, gateway, path, **more)
            body = json.loads(text)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
            return Reply(0, {})
        return Reply(status, body if isinstance(body, dict) else {})

    async def _text(self, method: str, gateway: str, path: str) -> str:
        text, _ = await self._said(method, gateway, path)
        return text

    async def _said(self, method: str, gateway: str, path: str, **more: object) -> tuple[str, int]:
        headers = {**self._headers, **more.pop("headers", {})}  # type: ignore[dict-item]
        timeout = aiohttp.ClientTimeout(total=ASK_S)
        connector = aiohttp.TCPConnector(force_close=True)
        async with (
            aiohttp.ClientSession(self._urls[gateway], connector=connector, timeout=timeout) as session,
            session.request(method, path, headers=headers, **more) as response,  # type: ignore[arg-type]
        ):
            return await response.text(), response.status

    def _note(self, kind: str, **members: str | float) -> None:
        self._journal.note(kind, HOST, name=str(self._number), **members)
