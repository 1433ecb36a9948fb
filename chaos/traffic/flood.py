"""A flood: one question asked again and again, as fast as a replica answers it from what it has kept.

It is for events, of which each call makes one: clients cost so little here that the replica is what is slow. Each
call is told like any other. Not here: calls at a rate (`load.py`).
"""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace

from chaos.stand.stand import Stand
from chaos.traffic.answer import Answer
from chaos.traffic.caller import HOST, asks, gets
from chaos.traffic.question import PATH, Question

AT_ONCE = 16
"""Connections to one replica: more wait for one another."""

ANSWER_S = 20.0
"""A kept answer takes a millisecond."""


async def flood(stand: Stand, question: Question, gateway: str, count: int) -> None:
    """Ask a question so many times through a gateway, which keeps its answer.

    Raises:
        OSError, TimeoutError, asyncio.IncompleteReadError: an answer does not come.
    """
    said = replace(question, gateway=gateway)
    numbers = iter(range(count))
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(_asked(stand, said, numbers))


async def _asked(stand: Stand, said: Question, numbers: Iterator[int]) -> None:
    """Ask on one connection until the numbers are used up."""
    port, token = stand.gateway(said.gateway).port, stand.keys.token_of(said.key)
    body = json.dumps(said.body()).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for number in numbers:
            name = f"{said.name}-{said.gateway}-{number}"
            again = replace(said, name=name, repeats=said)
            stand.journal.note("call_sent", HOST, call=name, **asks(again))
            writer.write(_head(again, token, len(body)) + body)
            async with asyncio.timeout(ANSWER_S):
                answer = await _answer(reader)
            stand.journal.note("call_ended", HOST, call=name, **gets(answer))
    finally:
        writer.close()


def _head(question: Question, token: str, length: int) -> bytes:
    headers = {"Host": "gateway", **question.headers(token), "Content-Length": str(length)}
    lines = (f"POST {PATH} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", "")
    return "\r\n".join(lines).encode()


async def _answer(reader: asyncio.StreamReader) -> Answer:
    answer = Answer(lambda: None)
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers: dict[str, str] = {}
    for line in filter(None, lines):
        name, _, value = line.partition(": ")
        headers[name] = value
    answer.begin(int(first.split()[1]), headers)
    answer.feed(await reader.readexactly(int(headers["Content-Length"])))
    answer.end()
    return answer
