"""Calls that are made again, by the OpenAI SDK for Python, at two replicas with one Postgres and one Valkey.

Where a model keeps its answers an exact repeat is answered from them; under an Idempotency-Key one answer is made.
"""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from tests.e2e import declared
from tests.e2e.cloud import Cloud, cloud
from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.fleet_store import FleetStore
from tests.e2e.http import saying, streaming
from tests.e2e.serve_process import Replica, one_model, prepared, serving
from tests.e2e.waiting import until
from tests.world.events import VENDOR_MODEL

pytestmark = pytest.mark.service

KEPT = "kept"
"""The model whose answers are kept."""

REPLAYED = "idempotency-replayed"
CACHE = "x-ktms-cache"


@dataclass(frozen=True)
class Stand:
    """Two replicas, and what stands around them."""

    one: Replica
    other: Replica
    store: FleetStore
    cloud: Cloud

    def sdk(self, replica: Replica) -> OpenAI:
        return OpenAI(base_url=f"{replica.url}/v1", api_key=declared.APP_KEY, max_retries=0)


@pytest.fixture(scope="module")
def stand(new_home: NewHome, new_database: NewDatabase, server_folder: Path) -> Iterator[Stand]:
    folder = server_folder / "again"
    folder.mkdir(mode=0o711)
    database = new_database()
    with cloud() as vendor, FleetStore(folder) as store:
        redis = {"KTMS_REDIS_URL": store.url, "KTMS_REDIS_TIMEOUT_MS": "300"}
        with (
            serving(new_home().folder, database, redis) as one,
            serving(new_home().folder, database, redis) as other,
        ):
            prepared(one)
            prepared(other)
            one.apply("gateway", **parts(vendor))
            for replica in (one, other):
                until(lambda each=replica: each.readiness()[1]["snapshot"] > 0, "it has its configuration")  # type: ignore[misc]  # bound at once
            yield Stand(one, other, store, vendor)


def parts(vendor: Cloud) -> dict[str, object]:
    kept = {**declared.model(KEPT, ("cloud", VENDOR_MODEL)), "cache": {"ttl_s": 300}}
    found = one_model(vendor)
    return {
        **found,
        "models": [declared.cloud_model(), kept],
        "client_keys": [declared.client_key("app", declared.APP_KEY)],
    }


def asked(client: OpenAI, text: str, model: str, **headers: str) -> tuple[ChatCompletion, dict[str, str]]:
    with client:
        raw = client.chat.completions.with_raw_response.create(
            model=model, messages=[{"role": "user", "content": text}], extra_headers=headers
        )
        return raw.parse(), {name.lower(): value for name, value in raw.headers.items()}


def streamed(
    client: OpenAI, text: str, model: str, **headers: str
) -> tuple[list[ChatCompletionChunk], dict[str, str]]:
    with client:
        stream = client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": text}],
            stream=True,
            stream_options={"include_usage": True},
            extra_headers=headers,
        )
        told = {name.lower(): value for name, value in stream.response.headers.items()}
        return list(stream), told


def once(word: str) -> dict[str, str]:
    return {"Idempotency-Key": word}


def test_a_repeat_at_another_replica_is_answered_from_the_cache(stand: Stand) -> None:
    first, was = asked(stand.sdk(stand.one), "a question", KEPT)
    kept, _ = until(lambda: hit(stand, "a question"), "what was kept is given again")
    before = stand.cloud.dialled
    again, now = asked(stand.sdk(stand.one), "a question", KEPT)
    assert (was[CACHE], now[CACHE], now["x-ktms-vendor"]) == ("miss", "hit", "cache")
    assert again == kept == first
    assert stand.cloud.dialled == before


def hit(stand: Stand, text: str, at: Replica | None = None) -> tuple[ChatCompletion, dict[str, str]] | None:
    found = asked(stand.sdk(at or stand.other), text, KEPT)
    return found if found[1][CACHE] == "hit" else None


def test_a_kept_stream_is_the_same_for_the_sdk(stand: Stand) -> None:
    first, was = streamed(stand.sdk(stand.one), "a streamed question", KEPT)

    def kept() -> list[ChatCompletionChunk] | None:
        chunks, told = streamed(stand.sdk(stand.other), "a streamed question", KEPT)
        return chunks if told[CACHE] == "hit" else None

    again = until(kept, "the stream is given again")
    assert was[CACHE] == "miss"
    assert again == first
    assert again[-1].usage is not None


def test_a_client_may_say_no(stand: Stand) -> None:
    asked(stand.sdk(stand.one), "no cache, please", KEPT)
    before = stand.cloud.dialled
    _, told = asked(stand.sdk(stand.one), "no cache, please", KEPT, **{"X-KTMS-Cache": "off"})
    assert told[CACHE] == "off"
    assert stand.cloud.dialled == before + 1


def test_a_repeat_under_the_same_word_is_the_same_answer(stand: Stand) -> None:
    first, was = asked(stand.sdk(stand.one), "an order", declared.CLOUD, **once("order-1"))
    before = stand.cloud.dialled
    again, now = asked(stand.sdk(stand.other), "an order", declared.CLOUD, **once("order-1"))
    assert again == first
    assert REPLAYED not in was
    assert now[REPLAYED] == "true"
    assert now["x-ktms-vendor"] == "cloud"
    assert stand.cloud.dialled == before


def test_a_streamed_repeat_under_the_same_word_is_the_same_stream(stand: Stand) -> None:
    first, _ = streamed(stand.sdk(stand.one), "a streamed order", declared.CLOUD, **once("order-2"))
    before = stand.cloud.dialled

    def replay() -> tuple[list[ChatCompletionChunk], dict[str, str]] | None:
        try:
            return streamed(stand.sdk(stand.other), "a streamed order", declared.CLOUD, **once("order-2"))
        except openai.ConflictError:  # the client had its end mark a moment before it was kept
            return None

    again, now = until(replay, "the stream was kept")
    assert again == first
    assert now[REPLAYED] == "true"
    assert stand.cloud.dialled == before


def test_another_body_under_the_same_word_is_422(stand: Stand) -> None:
    asked(stand.sdk(stand.one), "an order", declared.CLOUD, **once("order-3"))
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        asked(stand.sdk(stand.other), "another order", declared.CLOUD, **once("order-3"))
    assert refused.value.code == "idempotency_conflict"


def test_while_the_first_one_runs_the_second_is_409(stand: Stand) -> None:
    with ThreadPoolExecutor(1) as pool:
        before = stand.cloud.dialled
        first = pool.submit(asked, stand.sdk(stand.one), "later", declared.CLOUD, **once("order-4"))
        until(lambda: stand.cloud.dialled > before, "the first one is under way")
        with pytest.raises(openai.ConflictError) as refused:
            asked(stand.sdk(stand.other), "later", declared.CLOUD, **once("order-4"))
        stand.cloud.go_on()
        answer, _ = first.result()
    assert refused.value.code == "idempotency_conflict"
    assert int(refused.value.response.headers["retry-after"]) >= 1
    again, now = asked(stand.sdk(stand.other), "later", declared.CLOUD, **once("order-4"))
    assert (again, now[REPLAYED]) == (answer, "true")


def test_a_call_that_failed_may_be_made_again(stand: Stand) -> None:
    for _ in range(2):
        with pytest.raises(openai.InternalServerError):
            asked(stand.sdk(stand.one), "fail", declared.CLOUD, **once("order-5"))


def test_a_word_that_cannot_be_one_is_400(stand: Stand) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        asked(stand.sdk(stand.one), "an order", declared.CLOUD, **once("x" * 256))
    assert refused.value.param == "Idempotency-Key"


def test_what_a_killed_replica_was_asked_is_not_asked_again(
    stand: Stand, new_home: NewHome, new_database: NewDatabase
) -> None:
    database = new_database()
    with serving(new_home().folder, database) as dies, serving(new_home().folder, database) as lives:
        prepared(dies)
        prepared(lives)
        dies.apply("gateway", **parts(stand.cloud))
        until(lambda: lives.readiness()[1]["snapshot"] > 0, "it has its configuration")
        body = {"model": declared.CLOUD, **saying("hang")}
        with streaming(dies.url, declared.APP_KEY, body, **once("order-6")) as stream:
            assert stream.event() is not None
            dies.program.signal(signal.SIGKILL)
            stream.rest()
            assert stream.cut
        before = stand.cloud.dialled
        with streaming(lives.url, declared.APP_KEY, body, **once("order-6")) as again:
            assert again.status == 409
        assert stand.cloud.dialled == before


def test_without_redis_nothing_is_kept_and_all_is_answered(stand: Stand) -> None:
    stand.store.stop()
    try:
        for _ in range(2):
            _, told = asked(stand.sdk(stand.one), "while it is away", KEPT)
            assert told[CACHE] == "miss"
    finally:
        stand.store.start()
    for replica in (stand.one, stand.other):  # each leaves a store that failed alone for a while
        assert until(lambda at=replica: hit(stand, "while it is away", at), "it is kept again")  # type: ignore[misc]  # bound at once
