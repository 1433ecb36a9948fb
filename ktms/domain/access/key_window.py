"""For how long a verified key counts: the time rules of client keys, and the memory they need.

A verdict is fresh for a few seconds; older ones count only while Postgres is away, and then for the length of
the window. Keys in use are verified again in one batch every few seconds, so a revoked one ends even if its
notification was lost. Revocation is for good: an older answer never takes it back. All times are monotonic
seconds. Not here: the look-up itself, and that there is only one per key at a time (engine).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeGuard, final

from ktms.domain.access.client_key import ClientKey
from ktms.domain.ids import KeyId

FRESH_S = 10.0
"""A revoked key is refused within this on every replica (FP11)."""

WINDOW_S = 300.0
"""How long a verified key works while Postgres is away (FP1); a setting may shorten it, never lengthen it."""

REVERIFY_EVERY_S = 5.0
"""Twice per FRESH_S, so that one lost batch is no gap."""

NEGATIVE_S = 2.0
"""A key made a moment after it was asked for must not stay refused; long enough against floods of a bad one."""

KEYS_MAX = 20_000
"""Keys kept; the batch of FP11 stays one query of this many ids at most."""

NEGATIVES_MAX = 10_000
"""Refused digests kept, apart from the keys: a flood of bad ones pushes out no good one."""


@dataclass(slots=True)
class Sighting:
    """What is known of one digest: the key, or None when there is none; when it was verified and last used."""

    key: ClientKey | None
    verified_at: float
    used_at: float


@dataclass(frozen=True, slots=True)
class Fresh:
    """Verified just now; a `key` of None was found to be no key."""

    key: ClientKey | None


@dataclass(frozen=True, slots=True)
class Known:
    """Verified within the window, but not just now: counts only while Postgres is away."""

    key: ClientKey


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing that counts is known: ask the store."""


UNKNOWN = Unknown()


def usable(key: ClientKey | None, wall: float) -> TypeGuard[ClientKey]:
    """Whether a key may be used at this wall time: there is one, not revoked, not expired."""
    return key is not None and not key.revoked and (key.expires_at is None or wall < key.expires_at)


@final
class KeyWindow:
    """Keys verified of late, by the digest of the whole token. Bounded: the ones unused for longest go first."""

    __slots__ = ("_by_digest", "_digest_of", "_fresh_s", "_negatives", "_window_s")

    def __init__(self, window_s: float = WINDOW_S) -> None:
        assert 0 < window_s <= WINDOW_S, window_s
        self._window_s = window_s
        self._fresh_s = min(FRESH_S, window_s)
        self._by_digest: dict[bytes, Sighting] = {}  # in the order of last use
        self._negatives: dict[bytes, Sighting] = {}  # in the order of verification
        self._digest_of: dict[KeyId, bytes] = {}

    def __repr__(self) -> str:
        return f"KeyWindow({len(self._by_digest)} keys, {len(self._negatives)} refused)"

    def look(self, digest: bytes, now: float) -> Fresh | Known | Unknown:
        """Tell what is known of a digest, and note that it was used."""
        negative = self._negatives.get(digest)
        if negative is not None:
            return Fresh(None) if now - negative.verified_at < NEGATIVE_S else UNKNOWN
        sighting = self._by_digest.pop(digest, None)
        if sighting is None:
            return UNKNOWN
        self._by_digest[digest] = sighting
        sighting.used_at = now
        age_s = now - sighting.verified_at
        assert sighting.key is not None, "keys and refusals are kept apart"
        if age_s < self._fresh_s:
            return Fresh(sighting.key)
        return Known(sighting.key) if age_s < self._window_s else UNKNOWN

    def remember(self, digest: bytes, key: ClientKey | None, now: float) -> None:
        """Keep what the store said of a digest; None: no key of this digest exists.

        `now` is best the moment the store was asked: an answer is never younger than its question.
        """
        known = self._by_digest.get(digest)
        if known is not None and known.verified_at > now:
            return  # a round asked later and was answered sooner: it may have found the key revoked
        self._drop(digest)
        if key is None:
            _make_room(self._negatives, NEGATIVES_MAX)
            self._negatives[digest] = Sighting(None, now, now)
            return
        assert key.digest == digest, "a key is kept under its own digest"
        self.forget(key.id)  # under another digest, if the key was replaced
        if len(self._by_digest) >= KEYS_MAX:
            self._drop(next(iter(self._by_digest)))
        self._by_digest[digest] = Sighting(key, now, now)
        self._digest_of[key.id] = digest

    def forget(self, key_id: KeyId) -> None:
        """Drop what is known of a key: it was changed elsewhere."""
        digest = self._digest_of.get(key_id)
        if digest is not None:
            self._drop(digest)

    def due(self, now: float) -> tuple[KeyId, ...]:
        """Give the keys in use, to be verified again in one batch; those unused for long are let go (FP1)."""
        for digest, each in tuple(self._by_digest.items()):
            if now - each.used_at >= WINDOW_S and now - each.verified_at >= self._window_s:
                self._drop(digest)
        kept = self._by_digest
        return tuple(id_ for id_, digest in self._digest_of.items() if now - kept[digest].used_at < WINDOW_S)

    def confirm(self, found: Mapping[KeyId, ClientKey], asked: Collection[KeyId], now: float) -> None:
        """Take the answer to a batch: changed and revoked keys are replaced, absent ones dropped.

        `asked` are the ids of the batch; `now` is best the moment the store was asked.
        """
        for key_id in asked:
            digest = self._digest_of.get(key_id)
            if digest is None:
                continue  # forgotten while the answer was on its way
            sighting, key = self._by_digest[digest], found.get(key_id)
            if key is None or key.digest != digest:
                self._drop(digest)
            elif key.revoked or not _revoked(sighting):
                sighting.key, sighting.verified_at = key, now

    def open(self, last_answer_at: float | None, now: float) -> bool:
        """Whether keys known here still count: the store's last answer is young enough (FP6, FP7)."""
        return last_answer_at is not None and now - last_answer_at < self._window_s

    def sightings(self) -> tuple[Sighting, ...]:
        """Give all keys kept, the longest unused first: what a saved snapshot remembers (FP9)."""
        return tuple(self._by_digest.values())

    def _drop(self, digest: bytes) -> None:
        self._negatives.pop(digest, None)
        sighting = self._by_digest.pop(digest, None)
        if sighting is not None and sighting.key is not None:
            del self._digest_of[sighting.key.id]


def _make_room(kept: dict[bytes, Sighting], limit: int) -> None:
    if len(kept) >= limit:
        del kept[next(iter(kept))]


def _revoked(sighting: Sighting) -> bool:
    return sighting.key is not None and sighting.key.revoked
