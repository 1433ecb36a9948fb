"""One target, asked once: send, judge, relay or read, and book what it cost.

Rules: whatever happens, the exchange is closed and one usage event is recorded in the same block; a vendor's words
decide what follows only through `domain/routing/outcome.py`; nothing here chooses a target.
"""

import asyncio
from collections.abc import Callable

from ktms.dialects.openai_chat.answer import BadAnswer, WholeAnswer, read_answer, read_error
from ktms.dialects.openai_chat.stream import StreamObserver
from ktms.dialects.openai_chat.vendor_error import WireError
from ktms.domain.access.secret import Secret
from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.capacity.serving import is_other_model
from ktms.domain.capacity.truncation import looks_truncated
from ktms.domain.errors import ErrorCode, problem
from ktms.domain.routing.outcome import FailureKind, VendorError, judge_answer, judge_failure
from ktms.domain.routing.retry_after import retry_after_s
from ktms.domain.routing.scrub import without
from ktms.domain.routing.window import BYTES_PER_TOKEN_MIN
from ktms.engine.call import Streamed, Whole
from ktms.engine.look import says_draining
from ktms.engine.relay import ClientStream, Relay
from ktms.engine.settings import EngineSettings
from ktms.engine.settle import Bookkeeper
from ktms.engine.shot import Shot, Target
from ktms.engine.trail import Trail
from ktms.ports.clock import Clock
from ktms.ports.upstream import Upstream, UpstreamAnswer, UpstreamFailed, UpstreamRequest

_UPSTREAM_ID_MAX_CHARS = 128  # a request id is short; anything longer is not one


class _ClientStalled(Exception):
    """The client took no byte for too long."""


class Attempts:
    """Asks targets."""

    def __init__(self, upstream: Upstream, books: Bookkeeper, clock: Clock, settings: EngineSettings) -> None:
        self._upstream = upstream
        self._books = books
        self._clock = clock
        self._settings = settings

    async def ask(self, target: Target, trail: Trail, speaks: Callable[[], None]) -> Shot:
        """Ask one target; never raises for what the target does. `speaks` is called at the first visible piece."""
        shot = Shot(self._clock.monotonic(), secret=target.secret)
        trail.vendor, trail.node, trail.asking_since = target.vendor, target.node, shot.began_at
        trail.upstream_id = None  # that of an earlier target says nothing about this one
        try:
            await self._exchange(target, trail, shot, speaks)
        except asyncio.CancelledError:
            shot.status = AttemptStatus.CANCELLED
            raise
        except _ClientStalled:
            shot.status = AttemptStatus.CANCELLED
            trail.cancelled = True
            shot.result = Streamed()
        finally:
            ended_at = self._clock.monotonic()
            trail.upstream_s += ended_at - shot.began_at
            trail.asking_since = None
            self._books.attempt(trail, target, shot, ended_at)
        return shot

    async def _exchange(self, target: Target, trail: Trail, shot: Shot, speaks: Callable[[], None]) -> None:
        call, stream = trail.call, trail.stream
        body = call.body.for_target(
            target.vendor_model,
            ask_usage=target.asks_usage and stream is not None,
            withheld=target.withholds,
        )
        request = UpstreamRequest(target.origin, target.prologue, body, target.timers, call.forwarded)
        try:
            answer = await self._upstream.send(request)
        except UpstreamFailed as failure:
            shot.verdict = judge_failure(failure.kind, visible=False)
            return
        try:
            trail.upstream_id = _upstream_id(answer)
            shot.http_status = answer.status
            if answer.status != 200:
                await self._refused(answer, target, shot)
            elif stream is None:
                await self._whole(answer, target, trail, shot)
            elif _is_json(answer):
                await self._not_streamed(answer, target, trail, shot)
            else:
                await self._streamed(answer, target, trail, shot, speaks)
        finally:
            answer.close()

    async def _refused(self, answer: UpstreamAnswer, target: Target, shot: Shot) -> None:
        try:
            error = read_error(await answer.read(self._settings.error_body_max_bytes))
        except UpstreamFailed:
            error = None  # the status says enough
        shot.retry_after_s = retry_after_s(answer.header, self._clock.wall())
        self._judge_answer(answer.status, error, target, shot, draining=says_draining(answer))

    def _judge_answer(
        self, status: int, error: WireError | None, target: Target, shot: Shot, *, draining: bool = False
    ) -> None:
        told = None if error is None else _told(error, shot.secret)
        verdict = judge_answer(
            status,
            told,
            has_retry_after=shot.retry_after_s is not None,
            of_node=target.node is not None,
            draining=draining,
        )
        shot.verdict = verdict
        shot.status = AttemptStatus.REFUSED if verdict.ends_call else AttemptStatus.FAILED

    async def _whole(self, answer: UpstreamAnswer, target: Target, trail: Trail, shot: Shot) -> None:
        assert trail.model is not None
        call = trail.call
        try:
            body = await answer.read(self._settings.whole_answer_max_bytes)
            told = read_answer(body, public_model=trail.model.name, route=call.route)
        except UpstreamFailed as failure:
            shot.verdict = judge_failure(failure.kind, visible=False)
        except BadAnswer:
            shot.verdict = judge_failure(FailureKind.MALFORMED, visible=False)
        else:
            self._take_whole(told, target, trail, shot)

    def _take_whole(self, told: WholeAnswer, target: Target, trail: Trail, shot: Shot) -> None:
        if told.error is not None:
            self._judge_answer(200, told.error, target, shot)
            return
        if told.model_told is not None and is_other_model(told.model_told, target.expects):
            shot.verdict = judge_failure(FailureKind.WRONG_MODEL, visible=False)
            return
        if told.empty:
            shot.verdict = judge_failure(FailureKind.MALFORMED, visible=False)
            return
        shot.timings = told.timings
        shot.told, shot.content_bytes = told.usage, told.text_bytes
        self._note_truncation(target, trail, shot)
        if shot.truncated:
            shot.verdict = judge_failure(FailureKind.TRUNCATED, visible=False)
            return
        shot.status = AttemptStatus.OK
        shot.result = Whole((), told.body, told.finished)

    def _note_truncation(self, target: Target, trail: Trail, shot: Shot) -> None:
        """Notice a prompt that an engine has cut without a word (N24)."""
        if not target.may_cut or shot.told is None:
            return
        shot.truncated = looks_truncated(
            window=target.window,
            told_prompt_tokens=shot.told.prompt_tokens,
            least_prompt_tokens=trail.call.body.longest_text_bytes // BYTES_PER_TOKEN_MIN,
        )

    async def _not_streamed(self, answer: UpstreamAnswer, target: Target, trail: Trail, shot: Shot) -> None:
        """Read JSON where a stream was asked for: an error inside a 200 (P33), or a vendor that cannot stream."""
        await self._whole(answer, target, trail, shot)
        if shot.verdict is None:
            shot.result = None
            shot.status = AttemptStatus.FAILED
            shot.verdict = judge_failure(FailureKind.MALFORMED, visible=False)

    async def _streamed(
        self, answer: UpstreamAnswer, target: Target, trail: Trail, shot: Shot, speaks: Callable[[], None]
    ) -> None:
        assert trail.model is not None
        assert trail.stream is not None
        stream = trail.stream
        facts = trail.call.body.facts
        observer = StreamObserver(
            trail.model.name, route=trail.call.route, usage_asked=facts.usage_asked, answers=facts.answers
        )
        relay = Relay(stream, observer, self._settings, self._clock, speaks, target.expects)
        try:
            failure = await self._pour(answer, relay, stream)
        finally:
            shot.told = observer.usage
            shot.visible_events, shot.content_bytes = observer.visible_events, observer.content_bytes
            shot.first_token_at = trail.first_token_at = relay.first_token_at
            shot.last_token_at, shot.timings = self._clock.monotonic(), observer.timings
        self._note_truncation(target, trail, shot)
        self._judge_stream(failure, relay, target, shot)

    async def _pour(self, answer: UpstreamAnswer, relay: Relay, stream: ClientStream) -> FailureKind | None:
        try:
            while not await answer.pour(relay):
                async with asyncio.timeout(self._settings.client_stall_s):
                    await stream.drained()
        except UpstreamFailed as failure:
            return failure.kind
        except TimeoutError as error:
            stream.drop()
            raise _ClientStalled from error
        if not relay.observer.done:
            relay.end()
        return None

    def _judge_stream(self, failure: FailureKind | None, relay: Relay, target: Target, shot: Shot) -> None:
        observer, stream = relay.observer, relay.stream
        if observer.error is not None:
            self._judge_answer(200, observer.error, target, shot)
        elif failure is None and observer.finished and not _is_broken(relay):
            shot.status = AttemptStatus.OK
            stream.finish()
            shot.result = Streamed()
            return
        else:
            kind = failure or _why_unfinished(relay)
            shot.verdict = judge_failure(kind, visible=relay.visible)
        if relay.visible:
            assert shot.verdict is not None
            shot.status = AttemptStatus.INTERRUPTED
            cause = shot.verdict.problem
            if not shot.verdict.ends_call:
                cause = problem(ErrorCode.STREAM_INTERRUPTED, cause.message)
            stream.fail(cause)
            shot.result = Streamed(cause)


def _told(error: WireError, secret: Secret | None) -> VendorError:
    """Give what the vendor said, without the credential it was sent: some repeat it, and not all look like one."""
    if secret is None:
        return VendorError(error.status, error.code, error.type, error.message, error.param)
    known = secret.reveal()
    code, kind, param = (
        None if text is None else without(text, known) for text in (error.code, error.type, error.param)
    )
    return VendorError(error.status, code, kind, without(error.message, known), param)


def _is_json(answer: UpstreamAnswer) -> bool:
    return (answer.header("content-type") or "").lower().startswith("application/json")


def _is_broken(relay: Relay) -> bool:
    return relay.observer.malformed or relay.overflowed or relay.wrong_model


def _why_unfinished(relay: Relay) -> FailureKind:
    if relay.wrong_model:
        return FailureKind.WRONG_MODEL
    if relay.overflowed:
        return FailureKind.TOO_LARGE
    return FailureKind.MALFORMED if relay.observer.malformed else FailureKind.CLOSED


def _upstream_id(answer: UpstreamAnswer) -> str | None:
    found = answer.header("x-request-id") or answer.header("request-id")
    if found is None or not found.isascii() or not found.isprintable():
        return None
    return found[:_UPSTREAM_ID_MAX_CHARS]
