import asyncio

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.upstream import Fail, Head, Pause, Script, Silence, State
from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.call import Route
from ktms.domain.errors import ErrorCode
from ktms.domain.routing.outcome import FailureKind, Rest
from ktms.engine.call import Streamed, Whole
from ktms.engine.relay import ClientStream
from ktms.engine.settings import EngineSettings
from ktms.engine.shot import Shot
from ktms.engine.trail import Trail
from tests.engine.rig import EVENTS, JSON, Rig, client_key, cloud, refusal, rig_of, stream, whole
from tests.engine.virtual_loop import settle
from tests.world.events import DONE, C, F, U, chat_answer, error_event, event, role


class Asking:
    """One attempt at `alpha`, and what came of it."""

    def __init__(self, rig: Rig, script: Script, *, room_bytes: int = 65_536, **members: object) -> None:
        rig.says("alpha", script)
        self.rig = rig
        self.spoken = 0
        self.client = MemoryClient(room_bytes=room_bytes)
        call = rig.call(**members)  # type: ignore[arg-type]  # members of the body
        self.trail = Trail(call, key=client_key())
        assert rig.current.snapshot is not None
        placed = rig.placer.place(rig.current.snapshot, call, client_key())
        self.trail.decision = placed.decision
        model, step = cloud(rig.current.snapshot)
        self.trail.model = model
        self.target = placed.targets.cloud(step, model, step.vendor.keys[0], call.route, call.body.facts)
        if call.body.facts.streamed:
            self.trail.stream = ClientStream(self.client, rig.settings, rig.clock, lambda _: ())

    def _speaks(self) -> None:
        self.spoken += 1

    async def shot(self) -> Shot:
        try:
            return await self.rig.means.attempts.ask(self.target, self.trail, self._speaks)
        finally:
            if self.trail.stream is not None:
                self.trail.stream.close()


async def ask(rig: Rig, script: Script, **members: object) -> Shot:
    return await Asking(rig, script, **members).shot()  # type: ignore[arg-type]  # members of the body


async def ask_stream(rig: Rig, script: Script) -> tuple[Shot, MemoryClient]:
    asking = Asking(rig, script, stream=True)
    return await asking.shot(), asking.client


async def test_a_whole_answer_is_the_result_under_the_public_name(rig: Rig) -> None:
    shot = await ask(rig, whole("hello"))
    assert isinstance(shot.result, Whole)
    assert b'"cloudy"' in shot.result.body
    assert b"vendor-model" not in shot.result.body
    assert (shot.status, shot.http_status, shot.verdict) == (AttemptStatus.OK, 200, None)


async def test_the_body_sent_names_the_vendors_model(rig: Rig) -> None:
    await ask(rig, whole())
    (exchange,) = rig.upstream.exchanges
    assert b'"gpt"' in exchange.request.body
    assert b"cloudy" not in exchange.request.body


async def test_usage_is_asked_for_in_streams_alone(rig: Rig) -> None:
    await ask(rig, whole())
    await ask_stream(rig, stream("a"))
    bodies = [exchange.request.body for exchange in rig.upstream.exchanges]
    assert [b"include_usage" in body for body in bodies] == [False, True]


@pytest.mark.parametrize("script", [whole(), stream("a"), refusal(500), (Fail(FailureKind.REFUSED),)])
async def test_every_exchange_ends_and_is_booked_once(rig: Rig, script: Script) -> None:
    await ask_stream(rig, script)
    assert rig.upstream.open_total == 0
    assert len(rig.ledger.events) == 1


@pytest.mark.parametrize("kind", list(FailureKind))
async def test_a_failure_before_the_head_is_judged_by_its_kind(rig: Rig, kind: FailureKind) -> None:
    shot = await ask(rig, (Fail(kind),))
    assert shot.verdict is not None
    assert (shot.verdict.word, shot.verdict.ends_call, shot.status) == (kind.value, False, AttemptStatus.FAILED)
    assert (shot.http_status, shot.result) == (None, None)


@pytest.mark.parametrize("kind", [FailureKind.CLOSED, FailureKind.IDLE_TIMEOUT, FailureKind.TOO_LARGE])
async def test_a_failure_in_a_whole_body_is_judged_by_its_kind(rig: Rig, kind: FailureKind) -> None:
    shot = await ask(rig, (Head(200, JSON), b'{"cho', Fail(kind)))
    assert shot.verdict is not None
    assert (shot.verdict.word, shot.http_status) == (kind.value, 200)


async def test_a_clients_fault_ends_the_call_in_the_vendors_words(rig: Rig) -> None:
    shot = await ask(rig, refusal(422, "temperature is too high"))
    assert shot.verdict is not None
    assert (shot.verdict.ends_call, shot.status) == (True, AttemptStatus.REFUSED)
    assert (shot.verdict.problem.status, shot.verdict.problem.message) == (422, "temperature is too high")


@pytest.mark.parametrize("status", [301, 302, 401, 403, 408, 409, 425, 429, 500, 502, 503, 504])
async def test_other_refusals_move_on(rig: Rig, status: int) -> None:
    shot = await ask(rig, refusal(status))
    assert shot.verdict is not None
    assert (shot.verdict.ends_call, shot.status, shot.result) == (False, AttemptStatus.FAILED, None)


async def test_how_long_to_wait_is_read(rig: Rig) -> None:
    shot = await ask(rig, refusal(429, retry_after="7"))
    assert shot.retry_after_s == 7
    assert shot.verdict is not None
    assert shot.verdict.rest is Rest.KEY


async def test_a_refusal_without_a_readable_body_is_judged_by_its_status(rig: Rig) -> None:
    for script in (
        (Head(503), b"<html>", Fail(FailureKind.CLOSED)),
        (Head(503), b"x" * 100_000),
        (Head(503),),
    ):
        shot = await ask(rig, script)
        assert shot.verdict is not None
        assert shot.verdict.problem.code == ErrorCode.UPSTREAM_ERROR


async def test_an_answer_that_is_none_is_malformed(rig: Rig) -> None:
    for body in (b"", b"<html>", b"[]", b'{"choices": 3}'):
        shot = await ask(rig, (Head(200, JSON), body))
        assert shot.verdict is not None
        assert shot.verdict.word == "malformed", body


async def test_an_error_inside_a_200_is_taken_at_its_word(rig: Rig) -> None:
    body = b'{"error": {"message": "slow down", "code": 429}}'
    shot = await ask(rig, (Head(200, JSON), body))
    assert shot.verdict is not None
    assert (shot.verdict.word, shot.result) == ("429", None)


async def test_an_answer_beyond_the_bound_is_too_large() -> None:
    rig = await rig_of(settings=EngineSettings(whole_answer_max_bytes=100))
    shot = await ask(rig, whole("x" * 200))
    assert shot.verdict is not None
    assert shot.verdict.word == "too_large"


async def test_a_vendors_own_counts_are_booked(rig: Rig) -> None:
    await ask(rig, whole("hello", prompt=70, completion=20))
    usage = rig.ledger.events[-1].usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.estimated) == (70, 20, False)


async def test_counts_are_estimated_where_the_vendor_gives_none(rig: Rig) -> None:
    body = b'{"choices": [{"message": {"content": "%b"}, "finish_reason": "stop"}]}' % (b"word" * 25)
    await ask(rig, (Head(200, JSON), body))
    usage = rig.ledger.events[-1].usage
    assert usage.estimated
    assert usage.completion_tokens == 25


@pytest.mark.parametrize(
    ("given", "kept"),
    [("req_1", "req_1"), ("é", None), ("a\tb", None), ("x" * 200, "x" * 128), (None, None)],
)
async def test_the_vendors_id_is_kept_if_it_looks_like_one(rig: Rig, given: str | None, kept: str | None) -> None:
    headers = JSON if given is None else (*JSON, ("X-Request-Id", given))
    asking = Asking(rig, (Head(200, headers), chat_answer("a")))
    await asking.shot()
    assert asking.trail.upstream_id == kept


async def test_the_id_of_an_earlier_target_is_not_told_for_a_later_one(rig: Rig) -> None:
    asking = Asking(rig, (Fail(FailureKind.REFUSED),))
    asking.trail.upstream_id = "of-another"
    await asking.shot()
    assert asking.trail.upstream_id is None


async def test_a_stream_goes_to_the_client_and_ends_well(rig: Rig) -> None:
    shot, client = await ask_stream(rig, stream("a", "b"))
    assert (shot.status, shot.result, shot.verdict) == (AttemptStatus.OK, Streamed(), None)
    assert client.ended
    assert client.body.endswith(DONE)
    assert b"usage" not in client.body, "nobody asked for it"


async def test_a_stream_without_its_end_mark_gets_one(rig: Rig) -> None:
    shot, client = await ask_stream(rig, (Head(200, EVENTS), C("a"), F("stop")))
    assert shot.status is AttemptStatus.OK
    assert client.body.count(b"[DONE]") == 1


async def test_a_stream_has_the_counts_of_its_usage_event(rig: Rig) -> None:
    await ask_stream(rig, (Head(200, EVENTS), C("a"), F("stop"), U(70, 20), DONE))
    usage = rig.ledger.events[-1].usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.estimated) == (70, 20, False)


async def test_the_time_of_the_first_token_is_booked(rig: Rig) -> None:
    await ask_stream(rig, (Pause(1.0), Head(200, EVENTS), role(), Pause(2.0), C("a"), F("stop"), DONE))
    (booked,) = rig.ledger.events
    assert booked.first_token_s == 3.0


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ((Head(200, EVENTS), role(), Fail(FailureKind.CLOSED)), "closed"),
        ((Head(200, EVENTS), role()), "closed"),
        ((Head(200, EVENTS), DONE), "closed"),
        ((Head(200, EVENTS), event(b"{oops")), "malformed"),
        ((Head(200, EVENTS), Silence()), "first_token_timeout"),
        ((Head(200, EVENTS), error_event("slow down", code=429)), "429"),
        ((Head(200, EVENTS), role(), error_event("boom", kind="server_error", name="error")), "500"),
    ],
)
async def test_a_stream_that_fails_before_it_is_visible_may_move_on(rig: Rig, script: Script, word: str) -> None:
    shot, client = await ask_stream(rig, script)
    assert shot.verdict is not None
    assert (shot.verdict.word, shot.verdict.ends_call, shot.result) == (word, False, None)
    assert b"data:" not in client.body


@pytest.mark.parametrize(
    ("tail", "word"),
    [
        ((Fail(FailureKind.CLOSED),), "closed"),
        ((), "closed"),
        ((DONE,), "closed"),
        ((Silence(),), "idle_timeout"),
        ((event(b"{oops"),), "malformed"),
        ((error_event("boom", kind="server_error"),), "500"),
        ((error_event("bad input"),), "400"),
    ],
)
async def test_a_stream_that_fails_after_it_was_visible_ends_in_one_error_event(
    rig: Rig, tail: Script, word: str
) -> None:
    shot, client = await ask_stream(rig, (Head(200, EVENTS), C("a"), *tail))
    assert shot.verdict is not None
    assert (shot.verdict.word, shot.status) == (word, AttemptStatus.INTERRUPTED)
    assert isinstance(shot.result, Streamed)
    assert shot.result.problem is not None
    assert client.ended
    assert client.body.count(b'"error"') == 1
    assert b"[DONE]" not in client.body


async def test_what_was_delivered_of_a_cut_stream_is_estimated(rig: Rig) -> None:
    await ask_stream(rig, (Head(200, EVENTS), C("word" * 10), C("word" * 10), Fail(FailureKind.CLOSED)))
    (booked,) = rig.ledger.events
    assert (booked.status, booked.usage.estimated) == (AttemptStatus.INTERRUPTED, True)
    assert booked.usage.completion_tokens == 20


async def test_an_endless_stream_is_cut_at_its_bound() -> None:
    rig = await rig_of(settings=EngineSettings(stream_max_bytes=2000))
    shot, client = await ask_stream(rig, (Head(200, EVENTS), *[C("x") for _ in range(50)]))
    assert shot.verdict is not None
    assert shot.verdict.word == "too_large"
    assert len(client.body) < 2500


async def test_json_where_a_stream_was_asked_for_is_no_answer(rig: Rig) -> None:
    shot, client = await ask_stream(rig, whole("hello"))
    assert shot.verdict is not None
    assert (shot.verdict.word, shot.result, client.headers) == ("malformed", None, None)
    assert rig.ledger.events[-1].status is AttemptStatus.FAILED


async def test_a_slow_client_slows_the_vendor_and_gets_everything(rig: Rig) -> None:
    texts = ["x" * 100 for _ in range(50)]
    asking = Asking(rig, stream(*texts), room_bytes=500, stream=True)
    asking.client.stop_reading()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(asking.shot())
        await settle()
        assert not task.done()
        assert len(asking.client.body) < 1000
        while not task.done():
            asking.client.read_on()
            asking.client.stop_reading()
            await settle()
    assert task.result().status is AttemptStatus.OK
    assert asking.client.body.count(b"x" * 100) == 50


async def test_a_client_that_takes_nothing_for_too_long_is_dropped_and_the_vendor_with_it(rig: Rig) -> None:
    asking = Asking(rig, stream(*["x" * 100 for _ in range(50)]), room_bytes=500, stream=True)
    asking.client.stop_reading()
    began_at = rig.clock.monotonic()
    shot = await asking.shot()
    assert rig.clock.monotonic() - began_at == rig.settings.client_stall_s
    assert asking.client.dropped
    assert (shot.status, shot.result, shot.verdict) == (AttemptStatus.CANCELLED, Streamed(), None)
    assert asking.trail.cancelled
    assert rig.upstream.exchanges[0].state is State.GIVEN_UP


async def test_a_client_that_leaves_ends_the_exchange_at_once(rig: Rig) -> None:
    asking = Asking(rig, (Head(200, EVENTS), C("word" * 10), Silence()), stream=True)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(asking.shot())
        await settle()
        task.cancel()
        await settle()
        assert rig.upstream.open_total == 0
    (booked,) = rig.ledger.events
    assert (booked.status, booked.usage.completion_tokens) == (AttemptStatus.CANCELLED, 10)
    assert asking.trail.story() == "alpha:cancelled"


async def test_a_client_that_leaves_before_the_head_is_booked_too(rig: Rig) -> None:
    asking = Asking(rig, (Silence(),))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(asking.shot())
        await settle()
        task.cancel()
    (booked,) = rig.ledger.events
    assert (booked.status, booked.http_status) == (AttemptStatus.CANCELLED, None)


async def test_our_own_mistake_closes_the_exchange_and_is_booked(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("ktms.engine.attempt.read_answer", broken)
    with pytest.raises(ZeroDivisionError):
        await ask(rig, whole())
    assert rig.upstream.open_total == 0
    assert rig.ledger.events[-1].status is AttemptStatus.FAILED


async def test_the_upstreams_time_is_added_up(rig: Rig) -> None:
    asking = Asking(rig, (Pause(1.5), *whole()))
    await asking.shot()
    assert (asking.trail.upstream_s, asking.trail.asking_since) == (1.5, None)


async def test_completions_and_embeddings_are_asked_on_their_own_paths(rig: Rig) -> None:
    body = b'{"object": "list", "data": [{"embedding": [0.1]}], "usage": {"prompt_tokens": 3, "total_tokens": 3}}'
    shot = await ask(rig, (Head(200, JSON), body), route=Route.EMBEDDINGS)
    assert shot.status is AttemptStatus.OK
    assert rig.upstream.exchanges[0].request.prologue.path == "/v1/embeddings"


async def test_a_last_event_without_its_blank_line_ends_a_stream_well(rig: Rig) -> None:
    shot, client = await ask_stream(rig, (Head(200, EVENTS), C("a"), F("stop").rstrip(b"\n")))
    assert (shot.status, client.body.endswith(DONE)) == (AttemptStatus.OK, True)


@pytest.mark.parametrize("choices", [[], None])
async def test_an_answer_without_a_choice_is_none(rig: Rig, choices: list[object] | None) -> None:
    rig.says("alpha", whole("hello", choices=choices))
    rig.says("beta", whole("hello"))
    result = await rig.handle(rig.call())
    assert isinstance(result, Whole)
    assert dict(result.headers)["X-KTMS-Attempts"] == "alpha:malformed, beta:ok"
