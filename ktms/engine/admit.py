"""Who calls: from the token as sent to a verified key, also while Postgres is away.

Rules: form and checksum first, no database; then the window of verified keys; then one look-up per key, bounded,
shared by all calls that wait for it. A database that does not answer is 503, never 401 (FP1 to FP3).
Not here: what the key may do (`domain/routing/choose.py`).
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.key_form import KeyKind, KeyText, digest_of, read_key, same_digest
from ktms.domain.access.key_window import Fresh, KeyWindow, Known, Sighting, usable
from ktms.domain.errors import CallFailed, ErrorCode, problem
from ktms.domain.ids import KeyId
from ktms.domain.saved_snapshot import AgedKey
from ktms.engine.settings import EngineSettings
from ktms.ports.catalogue import StoreAway
from ktms.ports.clock import Clock
from ktms.ports.key_store import KeyStore
from ktms.ports.telemetry import Dependency, Gauge, Telemetry

_INVALID = problem(ErrorCode.INVALID_API_KEY, "The key is missing, malformed, unknown, expired or revoked.")
_AWAY = problem(
    ErrorCode.AUTH_UNAVAILABLE, "The key cannot be verified right now; it may well be valid.", retry_after_s=2
)


@dataclass(frozen=True, slots=True)
class _Answered:
    """What the store said of one digest: the key, or None when there is none."""

    key: ClientKey | None


class Admission:
    """Verifies client keys. `answered_at`: when the store last answered, by the monotonic clock."""

    def __init__(self, keys: KeyStore, clock: Clock, telemetry: Telemetry, settings: EngineSettings) -> None:
        self._keys = keys
        self._clock = clock
        self._telemetry = telemetry
        self._lookup_s = settings.lookup_s
        self._window = KeyWindow(window_s=settings.key_window_s)
        self._pending: dict[bytes, asyncio.Future[_Answered | None]] = {}
        self.answered_at: float | None = None
        self.store_answers = False

    async def admit(self, token: str) -> ClientKey:
        """Give the key behind a token.

        Raises:
            CallFailed: 401 for every kind of bad key alike, 503 where it cannot be told.
        """
        # The digest is of the whole text, so what is fresh under it had the right form when it was verified.
        sighting = self._window.look(digest_of(token), self._clock.monotonic())
        if isinstance(sighting, Fresh):
            return self._checked(sighting.key)
        if isinstance(sighting, Known) and not self.store_answers:
            return self._checked(sighting.key)  # `reverify` asks again and again beside the calls: none waits
        text = read_key(token)
        if text is None or text.kind is not KeyKind.CLIENT:
            raise CallFailed(_INVALID)
        answered = await self._look_up_once(text)
        if answered is not None:
            return self._checked(answered.key)
        known = self._window.look(text.digest, self._clock.monotonic())  # it may have been forgotten meanwhile
        if isinstance(known, Fresh | Known):
            return self._checked(known.key)
        raise CallFailed(_AWAY)

    def window_open(self) -> bool:
        """Whether keys verified earlier still count: the last answer of Postgres is young enough (FP6, FP7)."""
        return self._window.open(self.answered_at, self._clock.monotonic())

    def sightings(self) -> tuple[Sighting, ...]:
        """Give the verified keys, to be saved (FP9)."""
        return self._window.sightings()

    def restore(self, keys: Iterable[AgedKey], answered_ago_s: float) -> None:
        """Take over what an earlier process knew; each key counts until its window ends."""
        now = self._clock.monotonic()
        self.answered_at = now - answered_ago_s
        for one in keys:
            self._window.remember(one.key.digest, one.key, now - one.age_s)

    def forget(self, key_id: KeyId) -> None:
        """Drop what is known of a key: it was changed or revoked elsewhere."""
        self._window.forget(key_id)

    async def vouch(self, ids: Collection[KeyId]) -> Mapping[KeyId, ClientKey] | None:
        """Give the keys among these that may be used now; None where nobody can tell."""
        found = await self._ask(tuple(ids), self._until())
        if found is None:
            return None
        wall = self._clock.wall()
        return {key_id: key for key_id, key in found.items() if usable(key, wall)}

    async def reverify(self) -> None:
        """Ask for all keys in use at once; revoked ones are refused from then on (FP11)."""
        asked_at = self._clock.monotonic()  # not the answer's moment: a slow answer is about the past (FP11)
        due = self._window.due(asked_at)
        found = await self._ask(due, self._until())
        if found is not None:
            self._window.confirm(found, due, asked_at)

    def _checked(self, key: ClientKey | None) -> ClientKey:
        if not usable(key, self._clock.wall()):
            raise CallFailed(_INVALID)
        return key

    async def _look_up_once(self, text: KeyText) -> _Answered | None:
        """Look the key up unless another call does so already; None when the database did not answer."""
        until = self._until()
        while (pending := self._pending.get(text.digest)) is not None:
            if not pending.done():
                await asyncio.wait((pending,))
            if not pending.cancelled():
                return pending.result()
        future = asyncio.get_running_loop().create_future()
        self._pending[text.digest] = future
        try:
            answered = await self._look_up(text, until)
            future.set_result(answered)
            return answered
        finally:
            future.cancel()  # only where the look-up itself was cancelled: the next waiter takes over
            del self._pending[text.digest]

    async def _look_up(self, text: KeyText, until: float) -> _Answered | None:
        asked_at = self._clock.monotonic()
        found = await self._ask((text.id,), until)
        if found is None:
            return None
        key = found.get(text.id)
        if key is not None and not same_digest(key.digest, text.digest):
            key = None
        self._window.remember(text.digest, key, asked_at)
        return _Answered(key)

    def _until(self) -> float:
        """Until when a verification that begins now may wait; a question taken over gets what is left of it."""
        return asyncio.get_running_loop().time() + self._lookup_s

    async def _ask(self, ids: tuple[KeyId, ...], until: float) -> Mapping[KeyId, ClientKey] | None:
        """Ask the store; None when it is away. An empty question still tells whether it answers."""
        try:
            async with asyncio.timeout_at(until):
                found = await self._keys.find(ids)
        except (StoreAway, TimeoutError) as error:
            kind = "timeout" if isinstance(error, TimeoutError) else "away"
            self._telemetry.dependency_failed(Dependency.POSTGRES, "find_keys", kind)
            self._telemetry.gauge(Gauge.DEPENDENCY_UP, 0, Dependency.POSTGRES.value)
            self.store_answers = False
            return None
        self.store_answers = True
        self.answered_at = self._clock.monotonic()
        self._telemetry.gauge(Gauge.DEPENDENCY_UP, 1, Dependency.POSTGRES.value)
        return found
