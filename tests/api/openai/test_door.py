import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID

import pytest

from ktms.adapters.memory.upstream import NOBODY, Fail, Head, Pause
from ktms.api.body import BodyLimits
from ktms.app.gateway import GatewaySettings
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import ClientKeySpec, ModelSpec, TargetSpec
from ktms.domain.routing.outcome import FailureKind
from tests.api.house import BEARER, House, chat, house_of
from tests.api.wire_client import Answer, ask, connected, request
from tests.engine.rig import CATALOGUE, EVENTS, JSON, KEY, refusal, stream, whole
from tests.world.events import DONE, C

LISTED = ["cloudy", "homely", "mixed", "nowhere", "default", "auto"]


async def test_a_call_is_answered_with_the_vendors_body_under_the_public_name(house: House) -> None:
    house.says("alpha", whole("hello"))
    answer = await house.chat()
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json["model"] == "cloudy"
    assert answer.json["choices"][0]["message"]["content"] == "hello"


async def test_a_streamed_call_is_answered_event_by_event(house: House) -> None:
    house.says("alpha", stream("a", "b"))
    answer = await house.chat(stream=True)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.body.endswith(DONE)
    assert answer.headers["x-ktms-attempts"] == "alpha:ok"


@pytest.mark.parametrize(
    ("target", "body", "told"),
    [
        ("/v1/completions", {"model": "cloudy", "prompt": "hi"}, b'{"choices": [{"text": "ho"}], "model": "gpt"}'),
        ("/v1/embeddings", {"model": "cloudy", "input": ["hi", "ho"]}, b'{"data": [], "model": "gpt"}'),
    ],
)
async def test_other_routes_have_the_same_life(
    house: House, target: str, body: dict[str, object], told: bytes
) -> None:
    house.says("alpha", (Head(200, JSON), told))
    answer = await house.post(json.dumps(body).encode(), target=target)
    assert (answer.status, answer.json["model"]) == (200, "cloudy")
    assert house.upstream.exchanges[0].request.prologue.path == target


async def test_calls_in_a_row_share_a_connection(house: House) -> None:
    house.says("alpha", stream("a"), whole(), stream("b"), whole())
    async with connected(house.port) as wire:
        for streamed in (True, False, True, False):
            await wire.send(chat(stream=streamed))
            assert (await wire.answer()).status == 200


@pytest.mark.parametrize(
    "key", [BEARER, f"authorization: bearer {KEY}", f"x-api-key: {KEY}", f"X-Api-Key: {KEY}\r\n{BEARER}"]
)
async def test_a_key_travels_in_either_header(house: House, key: str) -> None:
    house.says("alpha", whole())
    assert (await house.chat(key=key)).status == 200


BAD_KEYS = [
    None,
    "Authorization: Bearer",
    "Authorization: Bearer ",
    f"Authorization: Basic {KEY}",
    f"Authorization: Bearer {KEY[:-1]}",
    "Authorization: Bearer ' or 1=1 --",
    "Authorization: Bearer " + "k" * 8000,
    "x-api-key: ключ",
    f"Authorization: Bearer {KEY.replace('ktms_sk', 'ktms_adm')}",
]


async def test_every_bad_key_is_refused_alike(house: House) -> None:
    answers = []
    for key in BAD_KEYS:
        given = () if key is None else (key,)
        sent = "\r\n".join(("POST /v1/chat/completions HTTP/1.1", "Host: gateway", *given, "Content-Length: 2"))
        answers.append(await ask(house.port, sent.encode() + b"\r\n\r\n{}"))
    assert {answer.status for answer in answers} <= {400, 401}
    answers = [await house.chat(key=key) for key in BAD_KEYS if key is None or key.isascii()]
    assert {(answer.status, answer.body) for answer in answers} == {(401, answers[0].body)}
    assert answers[0].json["error"]["type"] == "authentication_error"


async def test_two_different_keys_are_refused(house: House) -> None:
    answer = await house.chat("x-api-key: another")
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert KEY.encode() not in answer.body


async def test_an_idempotency_key_on_a_list_harms_nobody(house: House) -> None:
    assert (await house.get("/v1/models", "Idempotency-Key: order-7")).status == 200


async def test_every_answer_has_an_id_of_its_own(house: House) -> None:
    house.says("alpha", whole(), stream("a"), refusal(400), NOBODY)
    house.says("beta", NOBODY)
    answers = [
        await house.chat(),
        await house.chat(stream=True),
        await house.chat(),
        await house.chat(),
        await house.chat(key=None),
        await house.chat("Content-Encoding: gzip"),
        await house.post(b"{"),
        await house.get("/v1/models"),
        await house.get("/v1/models", key=None),
        await house.get("/v1/models/cloudy"),
        await house.get("/v1/models/none"),
    ]
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert len(set(ids)) == len(answers)
    assert {UUID(text).version for text in ids} == {7}


async def test_a_client_cannot_choose_the_id(house: House) -> None:
    house.says("alpha", whole())
    assert (await house.chat("X-Request-Id: mine")).headers["x-request-id"] != "mine"


ERRORS = [
    (b"", 400, "invalid_request", "invalid_request_error", None),
    (b"{", 400, "invalid_request", "invalid_request_error", None),
    (b"[]", 400, "invalid_request", "invalid_request_error", None),
    (b'{"model": "cloudy", "model": "x"}', 400, "invalid_request", "invalid_request_error", None),
    (b'{"model": 3}', 400, "invalid_request", "invalid_request_error", "model"),
    (b'{"model": "none", "messages": []}', 404, "model_not_found", "not_found_error", "model"),
    (b'{"model": "cloudy", "n": 1000}', 400, "invalid_request", "invalid_request_error", "n"),
    (b'{"a": ' + b"[" * 70 + b"]" * 70 + b"}", 400, "invalid_request", "invalid_request_error", None),
    (b"[" * 100_000, 400, "invalid_request", "invalid_request_error", None),
    (b'\xef\xbb\xbf{"model": "cloudy"}', 400, "invalid_request", "invalid_request_error", None),
    (b'{"model": "cloudy"} x', 400, "invalid_request", "invalid_request_error", None),
    (b'{"model": "cloudy", "max_tokens": 1e400}', 400, "invalid_request", "invalid_request_error", "max_tokens"),
    (b'{"model": "cloudy", "max_tokens": -1}', 400, "invalid_request", "invalid_request_error", "max_tokens"),
    (b'{"model": "\xff"}', 400, "invalid_request", "invalid_request_error", None),
    (b'{"model": "nowhere", "messages": []}', 503, "no_node_available", "upstream_error", None),
    (b'{"model": "cloudy:low", "messages": []}', 400, "invalid_request", "invalid_request_error", "model"),
]


@pytest.mark.parametrize(("body", "status", "code", "kind", "param"), ERRORS)
async def test_an_error_has_openais_shape(
    house: House, body: bytes, status: int, code: str, kind: str, param: str | None
) -> None:
    answer = await house.post(body)
    error = answer.json["error"]
    assert (answer.status, answer.code, error["type"], error["param"]) == (status, code, kind, param)
    assert len(error["message"]) <= 300
    assert error["message"]


class Counting(ThreadPoolExecutor):
    """The loop's threads, counting what they are given."""

    given = 0

    def submit(self, *args, **kwargs):  # type: ignore[no-untyped-def]  # as its parent
        self.given += 1
        return super().submit(*args, **kwargs)


async def test_a_body_is_parsed_off_the_loop_when_it_is_heavy(house: House) -> None:
    house.says("alpha", whole())
    threads = Counting(1)
    asyncio.get_running_loop().set_default_executor(threads)
    assert (await house.chat()).status == 200
    assert threads.given == 0
    assert (await house.chat(messages=[{"role": "user", "content": "x" * 200_000}])).status == 200
    assert threads.given == 1


async def test_a_heavy_body_that_is_wrong_is_refused_like_any_other(house: House) -> None:
    heavy = await house.post(b'{"model": "cloudy", "x": [' + b"1," * 100_000 + b"}")
    assert (heavy.status, heavy.code) == (400, "invalid_request")


async def test_a_heavy_body_with_a_million_keys_is_an_answer_too(house: House) -> None:
    body = b"{" + b",".join(b'"%d":1' % number for number in range(100_000)) + b"}"
    assert (await house.post(body)).status == 400


@pytest.mark.parametrize(("retry_after", "told"), [("7", "7"), ("0.2", "1"), ("7.1", "8"), (None, "5")])
async def test_when_to_come_back_is_told_in_whole_seconds(
    house: House, retry_after: str | None, told: str
) -> None:
    headers = {} if retry_after is None else {"retry_after": retry_after}
    house.says("alpha", NOBODY)
    house.says("beta", refusal(429, "slow", **headers))
    answer = await house.chat()
    assert (answer.status, answer.headers["retry-after"]) == (429, told)


async def test_where_coming_back_does_not_help_nothing_is_told(house: House) -> None:
    house.says("alpha", refusal(400))
    assert "retry-after" not in (await house.chat()).headers


async def test_a_vendors_refusal_keeps_its_status_and_code(house: House) -> None:
    body = b'{"error": {"message": "too hot", "type": "invalid_request_error", "param": "t", "code": "hot"}}'
    house.says("alpha", (Head(422, JSON), body))
    answer = await house.chat()
    assert (answer.status, answer.code, answer.json["error"]["param"]) == (422, "hot", "t")


async def test_a_timeout_and_a_broken_upstream_are_told_apart(house: House) -> None:
    house.says("beta", (Fail(FailureKind.CONNECT_TIMEOUT),), (Fail(FailureKind.CLOSED),))
    house.says("alpha", NOBODY)
    assert [(await house.chat()).status for _ in range(2)] == [504, 502]


async def test_choices_in_headers_are_obeyed_and_answered(house: House) -> None:
    house.says("alpha", whole())
    answer = await house.chat("X-KTMS-Placement: cloud-only", model="mixed")
    assert answer.headers["x-ktms-placement"] == "cloud_only"


async def test_a_choice_that_does_not_exist_names_its_header(house: House) -> None:
    answer = await house.chat("X-KTMS-Placement: moon")
    assert (answer.status, answer.json["error"]["param"]) == (400, "X-KTMS-Placement")


async def test_feature_headers_travel_and_no_others(house: House) -> None:
    house.says("alpha", whole())
    await house.chat("traceparent: 00-1-2-01", "OpenAI-Beta: x", "Cookie: a=b", "X-Forwarded-For: 10.0.0.1")
    (exchange,) = house.upstream.exchanges
    assert exchange.request.extra_headers == (("traceparent", "00-1-2-01"), ("OpenAI-Beta", "x"))
    assert KEY not in repr(exchange.request)


async def test_fields_that_would_choose_a_host_reach_no_host_but_the_vendors(house: House) -> None:
    house.says("alpha", whole())
    await house.chat(api_base="http://evil.example", base_url="http://evil.example")
    assert [exchange.request.origin.host for exchange in house.upstream.exchanges] == ["alpha.example"]


async def test_a_request_refused_at_the_door_is_booked(house: House) -> None:
    await house.post(b"{")
    await house.chat("Content-Encoding: gzip")
    assert [record.status for record in house.telemetry.calls] == [400, 415]
    assert house.telemetry.in_flight == 0


async def test_a_refused_body_that_was_not_read_ends_its_connection() -> None:
    settings = GatewaySettings(body=BodyLimits(max_bytes=100))
    async with house_of(settings) as house, connected(house.port) as wire:
        await wire.send(request("/v1/chat/completions", method="POST", headers=(BEARER, "Content-Length: 1000")))
        answer = await wire.answer()
        assert (answer.status, answer.headers["connection"]) == (413, "close")


async def test_a_refused_body_that_was_read_keeps_its_connection(house: House) -> None:
    house.says("alpha", whole())
    async with connected(house.port) as wire:
        await wire.send(request("/v1/chat/completions", method="POST", headers=(BEARER,), body=b"{"), chat())
        assert [(await wire.answer()).status for _ in range(2)] == [400, 200]


async def test_an_older_client_gets_a_stream_that_ends_with_its_connection(house: House) -> None:
    house.says("alpha", stream("a"))
    async with connected(house.port) as wire:
        await wire.send(chat(stream=True).replace(b"HTTP/1.1", b"HTTP/1.0"))
        answer = await wire.answer()
    assert "transfer-encoding" not in answer.headers
    assert answer.body.endswith(DONE)


async def test_a_stream_whose_target_breaks_ends_in_an_error_event(house: House) -> None:
    house.says("alpha", (Head(200, EVENTS), C("a"), Fail(FailureKind.CLOSED)))
    answer = await house.chat(stream=True)
    assert answer.status == 200
    assert answer.body.count(b'data: {"error"') == 1
    assert DONE not in answer.body


async def test_a_client_that_leaves_frees_everything(house: House) -> None:
    house.says("alpha", (Head(200, EVENTS), C("a"), Pause(30)))
    async with connected(house.port) as wire:
        await wire.send(chat(stream=True))
        await _until(lambda: bool(house.upstream.exchanges))
        wire.leave()
        await _until(lambda: bool(house.telemetry.calls))
    (record,) = house.telemetry.calls
    assert (record.status, record.cancelled) == (499, True)
    assert house.upstream.open_total == 0


async def test_models_are_listed_in_openais_shape(house: House) -> None:
    answer = await house.get("/v1/models")
    listed = answer.json
    assert (answer.status, listed["object"]) == (200, "list")
    assert [entry["id"] for entry in listed["data"]] == LISTED
    assert {(entry["object"], entry["owned_by"], type(entry["created"])) for entry in listed["data"]} == {
        ("model", "ktms", int)
    }


async def test_a_list_has_only_what_the_key_may_use() -> None:
    keys = (ClientKeySpec("app", "default", models=("homely",), secret=Secret(KEY)),)
    async with house_of(catalogue=replace(CATALOGUE, client_keys=keys)) as house:
        listed = (await house.get("/v1/models")).json
        hidden = await house.get("/v1/models/cloudy")
    assert [entry["id"] for entry in listed["data"]] == ["homely"]
    assert (hidden.status, hidden.code) == (404, "model_not_found")


async def test_one_model_is_shown_by_any_of_its_names(house: House) -> None:
    for name in LISTED:
        assert (await house.get(f"/v1/models/{name}?x=y")).json["id"] == name


@pytest.mark.parametrize("target", ["org/model:4b", "org%2Fmodel%3A4b", "org%2fmodel:4b"])
async def test_a_name_may_be_encoded_or_not(target: str) -> None:
    model = ModelSpec("org/model:4b", (TargetSpec("alpha", "gpt"),))
    async with house_of(catalogue=replace(CATALOGUE, models=(*CATALOGUE.models, model))) as house:
        assert (await house.get(f"/v1/models/{target}")).json["id"] == "org/model:4b"


@pytest.mark.parametrize("target", ["none", "", "..", "cloudy/", "%00", "%ff", "x" * 4000])
async def test_an_unknown_model_is_not_found(house: House, target: str) -> None:
    answer = await house.get(f"/v1/models/{target}")
    assert (answer.status, answer.code) == (404, "model_not_found")


async def test_a_mistyped_name_is_told_alike_wherever_it_is_asked_for(house: House) -> None:
    shown = (await house.get("/v1/models/homly")).json["error"]["message"]
    asked = (await house.chat(model="homly")).json["error"]["message"]
    expected = "There is no model named 'homly' for this key (did you mean 'homely'?); GET /v1/models lists them."
    assert (shown, asked) == (expected, expected)


async def test_a_name_that_is_not_open_to_the_key_is_not_suggested() -> None:
    keys = (ClientKeySpec("app", "default", models=("homely",), secret=Secret(KEY)),)
    async with house_of(catalogue=replace(CATALOGUE, client_keys=keys)) as house:
        answer = await house.chat(model="cloudi")
    assert "cloudy" not in answer.json["error"]["message"]


async def test_models_need_a_key(house: House) -> None:
    for target in ("/v1/models", "/v1/models/cloudy"):
        assert (await house.get(target, key=None)).status == 401
        assert (await house.get(target, "x-api-key: other")).status == 400


async def test_without_postgres_an_unknown_key_is_unavailable_and_may_come_back(house: House) -> None:
    house.store.away = True
    for answer in (await house.chat(), await house.get("/v1/models")):
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "auth_unavailable", "2")


@pytest.mark.parametrize("target", ["/v1/chat/completions", "/v1/models", "/v1/embeddings"])
async def test_a_wrong_method_is_not_allowed(house: House, target: str) -> None:
    answer = await ask(house.port, request(target, method="PUT", headers=(BEARER,)))
    assert (answer.status, answer.headers["allow"]) == (405, "GET" if target == "/v1/models" else "POST")


async def test_many_calls_at_once_are_all_answered(house: House) -> None:
    house.says("alpha", (Pause(0.02), *whole()))

    async def one() -> Answer:
        return await house.chat()

    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(one()) for _ in range(50)]
    assert {call.result().status for call in calls} == {200}
    assert len({call.result().headers["x-request-id"] for call in calls}) == 50


async def _until(happened: object) -> None:
    async with asyncio.timeout(10):
        while not happened():  # type: ignore[operator]  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0)
