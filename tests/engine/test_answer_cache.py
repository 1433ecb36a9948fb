from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.upstream import Head, Script
from ktms.dialects.openai_chat.kept import KeptAnswer, write_kept
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.call import Choices, Route
from ktms.domain.catalogue import Catalogue, ClientKeySpec, PriceSpec
from ktms.domain.conversation.usage import Usage
from ktms.domain.errors import ErrorCode
from ktms.domain.placement import Placement
from ktms.engine.call import Call, Failed, Result, Streamed, Whole
from ktms.ports.telemetry import Dependency
from tests.engine.rig import (
    CATALOGUE,
    EVENTS,
    JSON,
    KEY,
    NODE_MODEL,
    Rig,
    refusal,
    rig_of,
    stream,
    whole,
)
from tests.engine.virtual_loop import after
from tests.world.events import DONE, C, F, U, chat_answer

TTL_S = 600


def cached(ttl_s: int = TTL_S, **key: Any) -> Catalogue:
    """Give the catalogue with answers of all models kept; `key` are members of the client key."""
    models = tuple(replace(model, cache_ttl_s=ttl_s) for model in CATALOGUE.models)
    keys = (ClientKeySpec("app", "default", secret=Secret(KEY), **key),)
    return replace(CATALOGUE, models=models, client_keys=keys)


@pytest.fixture
async def rig() -> Rig:
    return await rig_of(catalogue=cached())


async def asked(rig: Rig, call: Call | None = None, **members: Any) -> Result:
    return await rig.handle(call or rig.call(**members))


def told(result: Result) -> str:
    assert isinstance(result, Whole | Failed), result
    return dict(result.headers)["X-KTMS-Cache"]


async def streamed(rig: Rig, **members: Any) -> MemoryClient:
    client = MemoryClient()
    assert await rig.handle(rig.call(stream=True, **members), client) == Streamed()
    return client


def said(client: MemoryClient) -> str:
    assert client.headers is not None
    return dict(client.headers)["X-KTMS-Cache"]


async def test_a_repeat_is_answered_from_what_was_kept(rig: Rig) -> None:
    rig.says("alpha", whole("first"), whole("second"))
    first, again = await asked(rig), await asked(rig)
    assert isinstance(first, Whole)
    assert isinstance(again, Whole)
    assert (told(first), told(again)) == ("miss", "hit")
    assert first.body == again.body
    assert rig.dialled == ["alpha"]


async def test_a_hit_says_which_model_answered_and_that_nobody_was_asked(rig: Rig) -> None:
    rig.says("alpha", whole())
    await asked(rig)
    again = await asked(rig, model="default")
    assert isinstance(again, Whole)
    headers = dict(again.headers)
    assert (headers["X-KTMS-Model"], headers["X-KTMS-Vendor"]) == ("cloudy", "cache")
    assert headers["X-KTMS-Attempts"] == "cache:hit"


async def test_a_streamed_repeat_gets_the_same_chunks_and_the_end_mark(rig: Rig) -> None:
    rig.says("alpha", stream("a", "b"))
    first, again = await streamed(rig), await streamed(rig)
    assert (said(first), said(again)) == ("miss", "hit")
    assert first.body == again.body
    assert again.body.endswith(DONE)
    assert (again.body.count(b"[DONE]"), again.ended) == (1, True)


@pytest.mark.parametrize(
    "members",
    [
        {"stream": True},
        {"seed": 7},
        {"n": 2},
        {"temperature": 0.1},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"model": "mixed"},
        {"placement": Placement.CLOUD_FIRST},
    ],
)
async def test_what_is_asked_in_another_way_is_another_question(rig: Rig, members: dict[str, Any]) -> None:
    rig.says("alpha", whole())
    await asked(rig)
    rig.says("alpha", refusal(400))
    for node in ("mac-1", "mac-2"):
        rig.says(node, refusal(400))
    assert isinstance(await asked(rig, **members), Failed)


async def test_the_order_of_members_does_not_matter(rig: Rig) -> None:
    rig.says("alpha", whole())
    await asked(rig, seed=1, top_p=1)
    assert told(await asked(rig, top_p=1, seed=1)) == "hit"


async def test_another_team_has_answers_of_its_own() -> None:
    one = await rig_of(catalogue=cached())
    one.says("alpha", whole())
    await asked(one)
    key = replace(one.catalogue.client_keys[0], tenant="other")
    tenants = (*one.catalogue.tenants, replace(one.catalogue.tenants[0], name="other"))
    other = Rig(one.settings, replace(one.catalogue, tenants=tenants, client_keys=(key,)), answers=one.answers)
    await other.start()
    other.says("alpha", whole())
    assert told(await asked(other)) == "miss"


async def test_a_feature_header_that_travels_on_is_part_of_the_question(rig: Rig) -> None:
    rig.says("alpha", whole())
    for forwarded, cache in (
        ((), "miss"),
        ((("OpenAI-Beta", "x"),), "miss"),
        ((("traceparent", "00-1"),), "hit"),
        ((("OpenAI-Beta", "x"), ("traceparent", "00-2")), "hit"),
    ):
        assert told(await asked(rig, replace(rig.call(), forwarded=forwarded))) == cache, forwarded


async def test_a_client_may_have_its_answer_neither_looked_up_nor_kept(rig: Rig) -> None:
    rig.says("alpha", whole("one"), whole("two"), whole("three"))
    off = [await asked(rig, replace(rig.call(), header=Choices(cache=False))) for _ in range(2)]
    assert [told(one) for one in off] == ["off", "off"]
    assert len(rig.dialled) == 2
    assert told(await asked(rig)) == "miss"
    assert [record.cache for record in rig.telemetry.calls] == ["off", "off", "miss"]


async def test_without_anybody_asking_for_it_nothing_is_kept() -> None:
    rig = await rig_of()
    rig.says("alpha", whole())
    assert [told(await asked(rig, replace(rig.call(), header=Choices(cache=True)))) for _ in range(2)] == [
        "off"
    ] * 2
    assert [record.cache for record in rig.telemetry.calls] == [None, None]


async def test_a_key_may_ask_for_it_where_no_model_does() -> None:
    rig = await rig_of(catalogue=cached(0, cache_ttl_s=60))
    rig.says("alpha", whole())
    assert [told(await asked(rig)) for _ in range(2)] == ["miss", "hit"]
    await after(60)
    assert told(await asked(rig)) == "miss"


async def test_what_was_kept_ends_within_the_last_tenth_of_its_time(rig: Rig) -> None:
    rig.says("alpha", whole())

    async def all_told() -> set[str]:
        return {told(await asked(rig, seed=seed)) for seed in range(20)}

    assert await all_told() == {"miss"}
    await after(0.9 * TTL_S - 1)
    assert await all_told() == {"hit"}
    await after(0.1 * TTL_S + 1)
    assert await all_told() == {"miss"}


async def test_an_answer_that_was_bound_by_its_length_is_complete(rig: Rig) -> None:
    rig.says("alpha", (Head(200, EVENTS), C("a"), F("length"), U(7, 1), DONE))
    await streamed(rig)
    assert said(await streamed(rig)) == "hit"


BROKEN: Sequence[Script] = (
    (Head(200, EVENTS), C("a"), F("stop"), b'data: {"error":{"message":"no"}}\n\n'),
    (Head(200, EVENTS), C("a")),
    (Head(200, EVENTS), C("a"), DONE),
)


@pytest.mark.parametrize("script", BROKEN)
async def test_a_stream_that_broke_is_not_kept(rig: Rig, script: Script) -> None:
    rig.says("alpha", script, stream("whole"))
    client = MemoryClient()
    await rig.handle(rig.call(stream=True), client)
    assert said(await streamed(rig)) == "miss"


async def test_a_whole_answer_that_does_not_say_why_it_ended_is_not_kept(rig: Rig) -> None:
    rig.says("alpha", (Head(200, JSON), b'{"model":"x","choices":[{"index":0,"message":{"content":"a"}}]}'))
    assert [told(await asked(rig)) for _ in range(2)] == ["miss", "miss"]


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_a_failure_is_not_kept(rig: Rig, status: int) -> None:
    rig.says("alpha", refusal(status), whole())
    rig.says("beta", refusal(status), whole())
    assert isinstance(await asked(rig), Failed)
    assert told(await asked(rig)) == "miss"


async def test_a_chain_keeps_what_a_model_with_a_time_of_its_own_answered() -> None:
    models = tuple(
        replace(model, cache_ttl_s=60) if model.name == "cloudy" else model for model in CATALOGUE.models
    )
    rig = await rig_of(catalogue=replace(CATALOGUE, models=models))
    rig.says("alpha", whole())
    for node in ("mac-1", "mac-2"):
        rig.says(node, whole(model=NODE_MODEL))
    for_nodes = [await asked(rig, model="auto") for _ in range(2)]
    assert [told(one) for one in for_nodes] == ["miss", "miss"]
    kept = [await asked(rig, model="auto", placement=Placement.CLOUD_ONLY) for _ in range(2)]
    assert [told(one) for one in kept] == ["miss", "hit"]


async def test_what_is_kept_under_another_form_or_model_is_a_miss(rig: Rig) -> None:
    gone = write_kept(KeptAnswer("gone", streamed=False, usage=Usage(1, 1), body=b"{}"))
    for raw in (b"other", gone):
        rig.answers = AlwaysGives(raw)  # type: ignore[assignment]  # a cache all the same
        rig.cached._means = replace(rig.cached._means, cache=rig.answers)
        rig.says("alpha", whole())
        assert told(await asked(rig)) == "miss"


class AlwaysGives:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    async def get(self, _: bytes) -> bytes | None:
        return self._raw

    def put(self, key: bytes, answer: bytes, ttl_s: float) -> None: ...


async def test_a_store_that_is_away_is_a_miss_and_nothing_is_kept(rig: Rig) -> None:
    rig.says("alpha", whole())
    rig.answers.away = "timeout"
    assert [told(await asked(rig)) for _ in range(2)] == ["miss", "miss"]
    assert (Dependency.REDIS, "look_up_answer", "timeout") in rig.telemetry.failures
    rig.answers.away = None
    assert told(await asked(rig)) == "miss"


PRICES = (PriceSpec("alpha", "gpt", input=Decimal(1), output=Decimal(2)),)


async def test_a_hit_is_one_event_that_costs_nothing_and_tells_what_it_saved() -> None:
    rig = await rig_of(catalogue=replace(cached(), prices=PRICES))
    rig.says("alpha", whole())
    await asked(rig)
    call = rig.call()
    await asked(rig, call)
    first, hit = rig.ledger.events
    assert (hit.vendor, hit.from_cache, hit.cost_picos, hit.status) == ("cache", True, 0, AttemptStatus.OK)
    assert (hit.request_id, hit.model, hit.usage) == (call.request_id, "cloudy", first.usage)
    assert hit.cloud_picos == first.cost_picos > 0
    assert [record.cache for record in rig.telemetry.calls] == ["miss", "hit"]


async def test_a_hit_is_a_request_and_neither_dollars_nor_more_than_one_token() -> None:
    limits = Limits(rpm=3, tpm=2_000, concurrent=1, usd_per_day_micros=1_000_000)
    rig = await rig_of(catalogue=replace(cached(limits=limits), prices=PRICES))
    rig.says("alpha", whole())
    account = f"key:{KEY[8:18]}"
    await asked(rig)
    spent = rig.quotas.quotas.counters(account).day_settled
    hits = [await asked(rig) for _ in range(2)]
    assert [told(hit) for hit in hits] == ["hit", "hit"]
    assert rig.quotas.quotas.counters(account).day_settled == spent > 0
    refused = await asked(rig)
    assert isinstance(refused, Failed)
    assert refused.problem.code == ErrorCode.RATE_LIMIT_EXCEEDED


async def test_embeddings_are_kept_too(rig: Rig) -> None:
    rig.says("alpha", (Head(200, JSON), b'{"object":"list","data":[],"model":"x","usage":{"prompt_tokens":2}}'))
    calls = [rig.call(route=Route.EMBEDDINGS) for _ in range(2)]
    assert [told(await asked(rig, call)) for call in calls] == ["miss", "hit"]


async def test_a_call_for_another_route_with_the_same_body_is_another_question(rig: Rig) -> None:
    rig.says("alpha", (Head(200, JSON), chat_answer("x")))
    await asked(rig)
    call = rig.call()
    call.route = Route.COMPLETIONS
    assert told(await asked(rig, call)) == "miss"
