"""Batches through the unmodified SDK: made, run, read, cancelled; what is refused is refused in OpenAI's form."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import openai
import pytest
from openai import AsyncOpenAI
from openai.types import Batch

from ktms.api.openai.served import QUERY_CHARS_MAX
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.secret import Secret
from ktms.domain.access.usage_event import BatchLine
from ktms.domain.catalogue import ClientKeySpec
from tests.api.house import BEARER, House, house_of
from tests.engine.rig import CATALOGUE, KEY, refusal, whole

OTHER_KEY = make_key(KeyKind.CLIENT, lambda count: bytes(range(1, count + 1)))
CHAT = "/v1/chat/completions"
OTHER = ClientKeySpec("other", "default", secret=Secret(OTHER_KEY))
TWO_KEYS = replace(CATALOGUE, client_keys=(*CATALOGUE.client_keys, OTHER))
POLLS = 10


def line(custom_id: str, url: str = CHAT, **members: object) -> dict[str, object]:
    body = {"model": "cloudy", "messages": [{"role": "user", "content": "hi"}], **members}
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": body}


def jsonl(*lines: object) -> bytes:
    return b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in lines)


def sdk_of(house: House, key: str = KEY) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"http://127.0.0.1:{house.port}/v1", api_key=key, max_retries=0)


@asynccontextmanager
async def at_work() -> AsyncIterator[House]:
    """Run a gateway with all its works."""
    async with house_of(catalogue=TWO_KEYS) as house:
        house.says("alpha", whole())
        async with asyncio.TaskGroup() as group:
            running = group.create_task(house.gateway.run())
            yield house
            running.cancel()


@pytest.fixture
async def working() -> AsyncIterator[House]:
    async with at_work() as house:
        yield house


async def made(sdk: AsyncOpenAI, content: bytes, **members: str) -> Batch:
    file = await sdk.files.create(file=("night.jsonl", content), purpose="batch")
    return await sdk.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata=members or None
    )


async def ended(sdk: AsyncOpenAI, batch: Batch) -> Batch:
    async with asyncio.timeout(20):
        while batch.status not in {"completed", "failed", "expired", "cancelled"}:
            batch = await sdk.batches.retrieve(batch.id)
    return batch


async def results(sdk: AsyncOpenAI, file_id: str | None) -> list[dict[str, object]]:
    assert file_id is not None
    return [json.loads(text) for text in (await sdk.files.content(file_id)).text.splitlines()]


async def test_a_batch_is_run_and_its_results_can_be_read(working: House) -> None:
    async with sdk_of(working) as sdk:
        batch = await made(sdk, jsonl(line("a"), line("b")), team="night")
        assert (batch.object, batch.endpoint, batch.completion_window) == ("batch", CHAT, "24h")
        assert batch.status in {"validating", "in_progress"}
        assert batch.metadata == {"team": "night"}
        done = await ended(sdk, batch)
        assert (done.status, done.error_file_id, done.errors) == ("completed", None, None)
        assert done.request_counts is not None
        assert (done.request_counts.total, done.request_counts.completed, done.request_counts.failed) == (2, 2, 0)
        assert done.in_progress_at is not None
        assert done.finalizing_at is not None
        assert done.completed_at is not None
        first, second = await results(sdk, done.output_file_id)
    assert (first["custom_id"], second["custom_id"]) == ("a", "b")
    assert first["error"] is None
    response = first["response"]
    assert isinstance(response, dict)
    assert response["status_code"] == 200
    assert response["body"]["model"] == "cloudy"
    assert response["body"]["choices"][0]["message"]["content"] == "hello"
    assert len(response["request_id"]) == 36


async def test_each_line_is_booked_once_with_its_creator_however_often_anybody_polls(working: House) -> None:
    async with sdk_of(working) as mine, sdk_of(working, OTHER_KEY) as others:
        done = await ended(mine, await made(mine, jsonl(line("a"), line("b"), line("c"))))
        for _ in range(POLLS):
            await mine.batches.retrieve(done.id)
            with pytest.raises(openai.NotFoundError):
                await others.batches.retrieve(done.id)
    async with asyncio.timeout(5):
        while len(working.book.events) < 3:  # noqa: ASYNC110 - the ledger tells nobody
            await asyncio.sleep(0)
    events = working.book.events
    assert {event.batch_line for event in events} == {BatchLine(done.id, number) for number in (1, 2, 3)}
    assert len({event.key_id for event in events}) == 1
    assert len({event.id for event in events}) == len(events) == 3


async def test_another_key_of_the_tenant_sees_nothing_of_it(working: House) -> None:
    async with sdk_of(working) as mine, sdk_of(working, OTHER_KEY) as others:
        batch = await made(mine, jsonl(line("a")))
        assert batch.input_file_id is not None
        for ask in (
            others.batches.cancel(batch.id),
            others.files.retrieve(batch.input_file_id),
            others.files.content(batch.input_file_id),
            others.files.delete(batch.input_file_id),
            others.batches.create(
                input_file_id=batch.input_file_id, endpoint="/v1/embeddings", completion_window="24h"
            ),
        ):
            with pytest.raises(openai.NotFoundError):
                await ask
        assert (await others.batches.list()).data == []
        assert (await others.files.list()).data == []


async def test_broken_lines_fail_by_themselves(working: House) -> None:
    broken = (
        b"{no json",
        {"method": "POST", "url": CHAT, "body": {}},
        line("a"),
        line("b", url="/v1/embeddings"),
        line("c", stream=True),
        line("d", max_tokens="many"),
    )
    async with sdk_of(working) as sdk:
        done = await ended(sdk, await made(sdk, jsonl(line("a"), *broken, b"", line("good"))))
        assert done.request_counts is not None
        assert (done.status, done.request_counts.completed, done.request_counts.failed) == ("completed", 2, 6)
        good = [each["custom_id"] for each in await results(sdk, done.output_file_id)]
        bad = await results(sdk, done.error_file_id)
    assert good == ["a", "good"]
    told = [(each["error"]["line"], each["custom_id"], each["error"]["param"]) for each in bad]  # type: ignore[index]  # an object
    assert told == [
        (2, None, None),
        (3, None, "custom_id"),
        (4, "a", "custom_id"),
        (5, "b", "url"),
        (6, "c", "body.stream"),
        (7, "d", "body.max_tokens"),
    ]
    assert {each["error"]["code"] for each in bad} == {"invalid_request"}  # type: ignore[index]  # an object
    assert all(each["response"] is None for each in bad)


async def test_a_refused_line_has_its_status_in_the_error_file(working: House) -> None:
    working.says("alpha", refusal(400, "too hot"))
    async with sdk_of(working) as sdk:
        done = await ended(sdk, await made(sdk, jsonl(line("a"), line("b", model="unknown"))))
        first, second = await results(sdk, done.error_file_id)
    assert done.output_file_id is None
    statuses = [each["response"]["status_code"] for each in (first, second)]  # type: ignore[index]  # an object
    assert statuses == [400, 404]
    assert first["response"]["body"]["error"]["message"] == "too hot"  # type: ignore[index]  # an object


@pytest.mark.parametrize(("content", "code"), [(b"", "empty_file"), (b"\n \n", "empty_file")])
async def test_a_file_without_lines_fails_the_batch(working: House, content: bytes, code: str) -> None:
    async with sdk_of(working) as sdk:
        done = await ended(sdk, await made(sdk, content))
    assert done.status == "failed"
    assert done.errors is not None
    assert done.errors.data is not None
    assert [each.code for each in done.errors.data] == [code]


async def test_a_cancelled_batch_keeps_what_it_has_and_is_cancelled_once(working: House) -> None:
    async with sdk_of(working) as sdk:
        batch = await made(sdk, jsonl(*(line(str(number)) for number in range(200))))
        cancelled = await sdk.batches.cancel(batch.id)
        assert cancelled.status in {"cancelling", "cancelled"}
        done = await ended(sdk, cancelled)
        assert done.status == "cancelled"
        assert (await sdk.batches.cancel(batch.id)).status == "cancelled"


async def test_a_batch_that_has_ended_cannot_be_cancelled(working: House) -> None:
    async with sdk_of(working) as sdk:
        done = await ended(sdk, await made(sdk, jsonl(line("a"))))
        with pytest.raises(openai.ConflictError) as refused:
            await sdk.batches.cancel(done.id)
    assert refused.value.body == {
        "message": "Cannot cancel a batch with status 'completed'.",
        "type": "invalid_request_error",
        "param": None,
        "code": "conflict",
    }


async def test_batches_are_listed_page_by_page(working: House) -> None:
    async with sdk_of(working) as sdk:
        names = [(await made(sdk, jsonl(line("a")))).id for _ in range(5)]
        page = await sdk.batches.list(limit=2)
        assert ([each.id for each in page.data], page.has_more) == (names[:2:-1], True)
        assert [each.id async for each in await sdk.batches.list(limit=2)] == names[::-1]


async def test_one_idempotency_key_makes_one_batch(working: House) -> None:
    async with sdk_of(working) as sdk:
        file = await sdk.files.create(file=("a", jsonl(line("a"))), purpose="batch")
        once = {"Idempotency-Key": "night-1"}
        asked = {"input_file_id": file.id, "endpoint": CHAT, "completion_window": "24h"}
        first, second = [
            await sdk.batches.with_raw_response.create(**asked, extra_headers=once)  # type: ignore[arg-type]  # members by name
            for _ in range(2)
        ]
        assert first.parse().id == second.parse().id
        assert [each.headers.get("Idempotency-Replayed") for each in (first, second)] == [None, "true"]
        with pytest.raises(openai.UnprocessableEntityError) as refused:
            await sdk.batches.create(**asked, metadata={"x": "y"}, extra_headers=once)  # type: ignore[arg-type]  # as above
    assert isinstance(refused.value.body, dict)
    assert refused.value.body["code"] == "idempotency_conflict"


async def test_while_the_store_is_away_no_batch_begins(house: House) -> None:
    assert (await house.chat()).status  # the key is known from here on
    house.store.away = True
    body = json.dumps({"input_file_id": f"file-{'0' * 32}", "endpoint": CHAT, "completion_window": "24h"}).encode()
    answer = await house.post(body, target="/v1/batches")
    assert (answer.status, answer.code) == (503, "idempotency_unavailable")
    assert answer.headers["retry-after"] == "2"
    shown = await house.get("/v1/batches")
    assert (shown.status, shown.code) == (503, "store_unavailable")


@pytest.mark.parametrize(
    ("change", "status", "param"),
    [
        ({"endpoint": "/v1/responses"}, 400, "endpoint"),
        ({"endpoint": 1}, 400, "endpoint"),
        ({"completion_window": "1h"}, 400, "completion_window"),
        ({"input_file_id": None}, 400, "input_file_id"),
        ({"input_file_id": "file-x"}, 404, "input_file_id"),
        ({"input_file_id": f"file-{'0' * 32}"}, 404, "input_file_id"),
        ({"metadata": {"a": 1}}, 400, "metadata"),
        ({"metadata": {"a": "x" * 513}}, 400, "metadata"),
        ({"metadata": {str(number): "" for number in range(17)}}, 400, "metadata"),
        ({"output_expires_after": {}}, 400, "output_expires_after"),
    ],
)
async def test_a_wrong_request_names_its_field(
    house: House, change: dict[str, object], status: int, param: str
) -> None:
    asked = {"input_file_id": f"file-{'0' * 32}", "endpoint": CHAT, "completion_window": "24h", **change}
    answer = await house.post(json.dumps(asked).encode(), target="/v1/batches")
    assert (answer.status, answer.json["error"]["param"]) == (status, param)


async def test_a_compressed_request_is_refused(house: House) -> None:
    assert (await house.post(b"{}", "Content-Encoding: gzip", target="/v1/batches")).status == 415


@pytest.mark.parametrize(
    "target", ["?limit=0", "?limit=101", "?limit=x", "?after=batch_1", "?limit=%C2%B2", "?x=%00"]
)
async def test_a_wrong_page_is_refused(house: House, target: str) -> None:
    assert (await house.get(f"/v1/batches{target}")).status == 400


@pytest.mark.parametrize("target", ["/v1/batches/batch_1", f"/v1/batches/batch_{'0' * 32}", "/v1/batches/"])
async def test_what_is_no_batch_is_not_found(house: House, target: str) -> None:
    answer = await house.get(target)
    assert (answer.status, answer.code) == (404, "not_found")


async def test_without_a_key_nothing_is_told(house: House) -> None:
    assert (await house.get("/v1/batches", key=None)).status == 401
    assert (await house.get("/v1/files", key=None)).status == 401


async def test_of_a_query_only_so_much_is_read(house: House) -> None:
    assert (await house.get(f"/v1/batches?{'x' * QUERY_CHARS_MAX}&limit=x")).status == 200


async def test_requests_are_in_the_books_with_their_key(house: House) -> None:
    await house.get("/v1/batches", BEARER, key=None)
    await house.get("/v1/batches/batch_1")
    records = [(record.route, record.status, record.code) for record in house.telemetry.calls]
    assert records == [("/batches", 200, None), ("/batches", 404, "not_found")]
    assert all(record.key_id for record in house.telemetry.calls)
