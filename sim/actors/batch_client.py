"""A simulated client with a batch: uploads its lines, makes it once, polls it at all replicas, reads its results.

It asks again whatever went wrong, as a script at night does, with one Idempotency-Key. What it was told is written
down; who judges it reads that. Not here: single calls (`caller.py`).
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sim.actors.answer import Answer
from sim.actors.caller import Clients
from sim.actors.request import CANARY, PATHS, Request
from sim.draft import BatchDraft, CallDraft
from sim.journal.journal import Journal

HOST = "client"

Headers = tuple[tuple[bytes, bytes], ...]

AGAIN_S = 3.0
"""Pause before something that went wrong is asked again."""

ANSWER_MAX_S = 60.0
"""What one request may take."""

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
EDGE = "edge-of-the-form"
FIRST_PARTS = (
    f'--{EDGE}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    f'--{EDGE}\r\nContent-Disposition: form-data; name="file"; filename="lines"\r\n\r\n'
)


@dataclass(frozen=True, slots=True)
class BatchMeans:
    """What it needs of its world. `begins_at` is the moment that drafts count from."""

    clients: Clients
    journal: Journal
    token_of: Callable[[str], str]
    gateways: int
    begins_at: float


def name_of_line(batch: int, line: int) -> str:
    """Name a line as targets see it: calls of clients have plain numbers."""
    return f"batch{batch}-{line}"


class BatchClient:
    """One batch from its first byte to its last result."""

    def __init__(self, number: int, draft: BatchDraft, means: BatchMeans) -> None:
        self._number = number
        self._draft = draft
        self._means = means
        self._asked = 0

    async def run(self) -> None:
        """Have it done."""
        body = FIRST_PARTS.encode() + self._lines() + f"\r\n--{EDGE}--\r\n".encode()
        form = ((b"Content-Type", f"multipart/form-data; boundary={EDGE}".encode()),)
        file = json.loads(await self._insist("POST", "/v1/files", body, form))["id"]
        await asyncio.sleep(self._means.begins_at + self._draft.makes_at_s - asyncio.get_running_loop().time())
        batch = await self._make(file)
        if self._draft.cancels_after_s is not None:
            await asyncio.sleep(self._draft.cancels_after_s)
            await self._cancel(batch)
        told = await self._ended(batch)
        counts = told["request_counts"]
        self._note(
            "batch_over",
            batch=batch,
            state=told["status"],
            total=counts["total"],
            completed=counts["completed"],
            failed=counts["failed"],
            done=await self._named(told["output_file_id"]),
            errors=await self._named(told["error_file_id"]),
        )

    def _lines(self) -> bytes:
        draft, lines = self._draft, []
        for number in range(1, draft.lines + 1):
            name = name_of_line(self._number, number)
            prompt = f"call={name} tokens={draft.tokens} {CANARY}-{name}"
            body: dict[str, object] = {"model": draft.model, "messages": [{"role": "user", "content": prompt}]}
            if draft.placement is not None:
                body["ktms"] = {"placement": draft.placement}
            lines.append({"custom_id": str(number), "method": "POST", "url": PATHS["chat"], "body": body})
        return b"\n".join(json.dumps(line).encode() for line in lines)

    async def _make(self, file: str) -> str:
        asked = {"input_file_id": file, "endpoint": PATHS["chat"], "completion_window": "24h"}
        once = ((b"Idempotency-Key", f"batch-{self._number}".encode()), (b"Content-Type", b"application/json"))
        while True:
            answer, gateway = await self._ask("POST", "/v1/batches", json.dumps(asked).encode(), once)
            self._note("batch_asked", gateway=gateway, status=answer.status, code=answer.code)
            if answer.status == 200 and answer.over:
                batch = str(json.loads(answer.body)["id"])
                self._note("batch_made", batch=batch, key=self._draft.key)
                return batch
            await asyncio.sleep(AGAIN_S)

    async def _cancel(self, batch: str) -> None:
        answer, _ = await self._ask("POST", f"/v1/batches/{batch}/cancel", b"", ())
        while answer.status not in (200, 409):
            await asyncio.sleep(AGAIN_S)
            answer, _ = await self._ask("POST", f"/v1/batches/{batch}/cancel", b"", ())
        self._note("batch_cancelled", batch=batch, status=answer.status, code=answer.code)

    async def _ended(self, batch: str) -> dict[str, Any]:
        while True:
            told: dict[str, Any] = json.loads(await self._insist("GET", f"/v1/batches/{batch}", b"", ()))
            if told["status"] in ENDED:
                return told
            await asyncio.sleep(self._draft.poll_s)

    async def _named(self, file: str | None) -> str:
        """Give the custom ids of a result file, in its order."""
        if file is None:
            return ""
        content = await self._insist("GET", f"/v1/files/{file}/content", b"", ())
        return " ".join(str(json.loads(line)["custom_id"]) for line in content.splitlines())

    async def _insist(self, method: str, path: str, body: bytes, headers: Headers) -> bytes:
        while True:
            answer, _ = await self._ask(method, path, body, headers)
            if answer.status == 200 and answer.over:
                return answer.body
            await asyncio.sleep(AGAIN_S)

    async def _ask(self, method: str, path: str, body: bytes, headers: Headers) -> tuple[Answer, str]:
        """Ask the next gateway in turn; who does not answer gives an answer without a status."""
        clients, draft = self._means.clients, self._draft
        call = CallDraft(at_s=0.0, key=draft.key, gateway=self._asked % self._means.gateways)
        self._asked += 1
        answer = Answer(lambda _: None)
        try:
            line, _ = await clients.open(call, fresh=True)
        except OSError:
            return answer, clients.gateway_of(call)
        bearer = (b"Authorization", b"Bearer " + self._means.token_of(draft.key).encode())
        line.ask(Request(method, path, ((b"Host", b"gateway"), bearer, *headers), body), answer)
        try:
            async with asyncio.timeout(ANSWER_MAX_S):
                while not answer.ended:
                    answer.changed.clear()
                    await answer.changed.wait()
        except TimeoutError:
            pass
        line.leave("fin")
        return answer, clients.gateway_of(call)

    def _note(self, kind: str, **members: str | float | bool | None) -> None:
        self._means.journal.note(kind, HOST, name=str(self._number), **members)
