"""A client with a batch before a server that says what a gateway says."""

import json
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from chaos.stand.run_journal import RunJournal
from chaos.traffic.batch import BatchClient


class Shelf:
    """Answers as told: how a batch is made, and what was uploaded and asked."""

    def __init__(self) -> None:
        self.made: tuple[int, dict[str, object]] = (200, {"id": "batch_1"})
        self.words: list[str] = []
        self.lines: list[dict[str, object]] = []

    async def upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        self.lines = [json.loads(line) for line in file.file.read().splitlines()]
        return web.json_response({"id": "file-1", "purpose": form["purpose"]})

    async def make(self, request: web.Request) -> web.Response:
        self.words.append(request.headers["Idempotency-Key"])
        status, body = self.made
        return web.json_response(body, status=status)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
async def url(shelf: Shelf) -> AsyncIterator[str]:
    app = web.Application()
    app.add_routes([web.post("/v1/files", shelf.upload), web.post("/v1/batches", shelf.make)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_lines_are_named_as_the_judge_of_batches_expects(shelf: Shelf, url: str) -> None:
    batch = BatchClient(1, {"gw1": url}, "token", RunJournal())
    assert await batch.upload("gw1", 2) == "file-1"
    assert [line["custom_id"] for line in shelf.lines] == ["1", "2"]
    assert "call=batch1-2 " in json.dumps(shelf.lines[1])


async def test_a_batch_that_is_made_twice_with_one_word_is_noted_as_one(shelf: Shelf, url: str) -> None:
    journal = RunJournal()
    batch = BatchClient(1, {"gw1": url}, "token", journal)
    assert [await batch.make("gw1", "file-1", "word") for _ in range(2)] == ["batch_1", "batch_1"]
    assert (len(list(journal.of("batch_made"))), len(list(journal.of("batch_asked")))) == (1, 2)
    assert shelf.words == ["word", "word"]


async def test_a_batch_that_is_refused_is_noted_with_its_code(shelf: Shelf, url: str) -> None:
    shelf.made = (503, {"error": {"code": "idempotency_unavailable"}})
    journal = RunJournal()
    assert await BatchClient(1, {"gw1": url}, "token", journal).make("gw1", "file-1", "word") is None
    assert journal.has("batch_asked", status=503, code="idempotency_unavailable", gateway="gw1")


async def test_a_gateway_that_is_not_there_refuses_without_a_status() -> None:
    journal = RunJournal()
    assert await BatchClient(1, {"gw1": "http://127.0.0.1:1"}, "token", journal).make("gw1", "f", "w") is None
    assert journal.has("batch_asked", status=0, code="")
