"""Answers that are given again: exact repeats of a call are answered from what was kept, where that is wanted.

Rules: only where the model or the key says so, and the client did not say no; the whole body counts, and for whom
and where the call would run; only what was complete is kept, for a time that chance shortens a little, so that
what was asked together does not end together; a store that is away is a miss (FR4). A hit is a request like any
other for the limits, but costs nothing and uses next to no tokens.
Not here: who waits for whom (`flights.py`), where answers lie (port AnswerCache).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace

from ktms.dialects.openai_chat.canonical import canonical_digest, digest_of
from ktms.dialects.openai_chat.kept import KeptAnswer, read_kept, write_kept
from ktms.dialects.openai_chat.request import is_heavy
from ktms.domain.access.client_key import ClientKey
from ktms.domain.errors import Problem
from ktms.domain.routing.choose import Decision
from ktms.domain.snapshot import Model
from ktms.engine.budget import FREE_TOKENS, Budget
from ktms.engine.call import Call, Result, Streamed, Whole
from ktms.engine.flights import Flight, Flights, Landing
from ktms.engine.place import Placed
from ktms.engine.recording import Recording
from ktms.engine.settle import Bookkeeper
from ktms.engine.trail import Trail
from ktms.ports.answer_cache import AnswerCache, CacheAway
from ktms.ports.client import Client
from ktms.ports.clock import Clock
from ktms.ports.entropy import Entropy
from ktms.ports.telemetry import Dependency, Telemetry

KEPT_BYTES_MAX = 1024 * 1024
"""A quarter of a million tokens; what is larger is no common question, and Redis holds few of that size."""

TTL_SHARE_MIN = 0.9
"""The shortest part of its time that an answer is kept."""

_PER_CALL = frozenset({"traceparent"})


@dataclass(frozen=True, slots=True)
class CacheMeans:
    """What giving answers again takes."""

    cache: AnswerCache
    books: Bookkeeper
    budget: Budget
    clock: Clock
    entropy: Entropy
    telemetry: Telemetry


class CachedAnswers:
    """Answers calls from what was kept, and keeps what may be given again."""

    def __init__(self, means: CacheMeans) -> None:
        self._means = means
        self.flights = Flights()

    def recording(self, trail: Trail, client: Client) -> Recording | None:
        """Give what a call's answer is recorded with, None where it is neither looked up nor kept."""
        assert trail.key is not None
        assert trail.decision is not None
        if not _wanted(trail.key, trail.decision):
            return None
        trail.cache = "off" if trail.decision.cache is False else "miss"
        return Recording(client, KEPT_BYTES_MAX) if trail.cache == "miss" else None

    async def answer(
        self, trail: Trail, placed: Placed, recording: Recording, ask: Callable[[], Awaitable[Result | Problem]]
    ) -> Result | Problem:
        """Answer a call: by what was kept, else by asking, and then keep the answer.

        Raises:
            CallFailed: a hit that the limits do not allow; and whatever `ask` raises.
        """
        key = await _key_of(trail.call, placed.decision, trail.key)
        found = await self._look(key, placed.decision, trail)
        if isinstance(found, _Hit):
            return await self._give(found, trail, placed)
        try:
            result = await ask()
            self._keep(key, found, trail, None if isinstance(result, Problem) else result, recording)
            return result
        finally:
            if found is not None:
                found.land(Landing.FAILED)

    async def _look(self, key: bytes, decision: Decision, trail: Trail) -> "_Hit | Flight | None":
        boarded = await self.flights.board(key)
        if not isinstance(boarded, Flight):
            return boarded if boarded is None else _hit(boarded, decision)
        try:
            raw = await self._means.cache.get(key)
        except CacheAway as away:
            self._means.telemetry.dependency_failed(Dependency.REDIS, "look_up_answer", away.kind)
            trail.redis_hung = away.kind == "timeout"
            boarded.land(Landing.OPEN)
            return None
        except BaseException:
            boarded.land(Landing.FAILED)
            raise
        kept = None if raw is None else read_kept(raw)
        hit = None if kept is None else _hit(kept, decision)
        if hit is None:
            return boarded
        boarded.land(hit.kept)
        return hit

    async def _give(self, hit: "_Hit", trail: Trail, placed: Placed) -> Result:
        means, kept = self._means, hit.kept
        wish = await means.budget.reserve(trail, placed, free=True)
        try:
            trail.cache, trail.used_tokens = "hit", FREE_TOKENS
            trail.model = hit.model
            means.books.hit(trail, kept)
            if trail.stream is None:
                return Whole((), kept.body)
            trail.stream.begin(answering=False)
            trail.stream.write(kept.body)
            trail.stream.finish()
            return Streamed()
        finally:
            if wish is not None:
                means.budget.settle(wish, trail)

    def _keep(
        self, key: bytes, flight: Flight | None, trail: Trail, result: Result | None, recording: Recording
    ) -> None:
        """Keep a complete answer, and tell those who wait for it."""
        answer, ttl_s = recording.answer(result, trail), _ttl_s(trail)
        unfinished = isinstance(result, Whole) and not result.finished
        end: KeptAnswer | Landing = Landing.FAILED
        if answer is not None and ttl_s and not unfinished and len(answer.body) <= KEPT_BYTES_MAX:
            end = replace(answer, headers=())
            spread_s = ttl_s * self._means.entropy.uniform(TTL_SHARE_MIN, 1.0)
            self._means.cache.put(key, write_kept(end), spread_s)
        elif recording.complete or isinstance(result, Whole):
            end = Landing.OPEN  # it went well and cannot be shared: nor will the next one's
        if flight is not None:
            flight.land(end)


@dataclass(frozen=True, slots=True)
class _Hit:
    kept: KeptAnswer
    model: Model


def _hit(kept: KeptAnswer, decision: Decision) -> _Hit | None:
    """Take what was kept; nothing where its model is none of the call's any more."""
    model = next((model for model in decision.models if model.name == kept.model), None)
    return None if model is None else _Hit(kept, model)


def _wanted(key: ClientKey, decision: Decision) -> bool:
    if key.cache_ttl_s:
        return True
    for model in decision.models:  # noqa: SIM110 - every call comes by, and a generator costs thrice as much
        if model.cache_ttl_s:
            return True
    return False


def _ttl_s(trail: Trail) -> int:
    assert trail.key is not None
    return trail.key.cache_ttl_s or (0 if trail.model is None else trail.model.cache_ttl_s)


async def _key_of(call: Call, decision: Decision, key: ClientKey | None) -> bytes:
    assert key is not None
    raw = call.body.raw
    if is_heavy(raw):
        body = await asyncio.get_running_loop().run_in_executor(None, canonical_digest, raw)
    else:
        body = canonical_digest(raw)
    about = (call.route.value, key.tenant, *_targets_of(decision), *_features_of(call))
    return digest_of((*(text.encode() for text in about), body))


def _targets_of(decision: Decision) -> Iterator[str]:
    """Tell where a call may run: answers of other targets are not given for it."""
    yield decision.chain or ""
    yield decision.tier or ""
    yield decision.placement.value
    yield "*" if decision.regions is None else ",".join(sorted(decision.regions))
    for model in decision.models:
        yield model.name
        yield from (f"local/{target.vendor_model}" for target in model.local)
        yield from (target.id for target in model.cloud)


def _features_of(call: Call) -> Iterator[str]:
    """Tell the headers that travel on to a target and may change what it answers."""
    for name, value in call.forwarded:
        if name not in _PER_CALL:
            yield f"{name}:{value}"
