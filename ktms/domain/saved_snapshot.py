"""What a replica saves of the snapshot in force and of the keys it verified, for a start without Postgres (FP9).

Rules: a saved key counts for the key window from its verification, exactly as it does where a replica just runs
on, so a revoked one dies in time whatever is saved. Something is as old as the slower of two clocks says: a wall
clock that was set back makes nothing younger while the machine stays up, and what then lies in the future counts
as old. Kept is the catalogue, not what was compiled from it: every rule is checked once more.
Not here: where it lies and how it is sealed (adapters), when it is saved (engine).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.key_window import Sighting
from ktms.domain.catalogue import Catalogue
from ktms.domain.ids import VendorKeyId
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment by both clocks, in seconds; `monotonic` None: that clock counts from elsewhere by now."""

    wall: float
    monotonic: float | None


@dataclass(frozen=True, slots=True)
class SavedKey:
    """A key as the database told it, and the wall time of that question."""

    key: ClientKey
    verified_at: float


@dataclass(frozen=True, slots=True)
class SavedSnapshot:
    """All that is saved; times are wall seconds since 1970, all of them by the clock of `saved_at`.

    `confirmed_at`: when the database last had this version as its newest; `answered_at`: when it last answered a
    question about keys. `key_ids` are those of each vendor's keys, by its name and in their order.
    """

    version: int
    catalogue: Catalogue
    key_ids: Mapping[str, tuple[VendorKeyId, ...]]
    saved_at: Moment
    confirmed_at: float
    answered_at: float
    keys: tuple[SavedKey, ...] = ()


@dataclass(frozen=True, slots=True)
class AgedKey:
    """A key that still counts, so many seconds after its verification."""

    key: ClientKey
    age_s: float


@dataclass(frozen=True, slots=True)
class Restored:
    """What a start can do with what was saved; ages are seconds before now."""

    snapshot: Snapshot
    confirmed_ago_s: float
    answered_ago_s: float
    keys: tuple[AgedKey, ...]


@dataclass(frozen=True, slots=True)
class TooOld:
    """Nothing of it counts any more. `age_s` is infinite where its clock or ours is wrong."""

    age_s: float


def saved_snapshot(
    snapshot: Snapshot, sightings: Iterable[Sighting], *, confirmed_at: float, answered_at: float, now: Moment
) -> SavedSnapshot:
    """Give what is to be saved now; the moments given are monotonic, and no client key is in the catalogue."""
    assert now.monotonic is not None, "a running replica has its clock"
    behind_s = now.wall - now.monotonic
    return SavedSnapshot(
        version=snapshot.version,
        catalogue=replace(snapshot.catalogue, client_keys=()),
        key_ids={vendor.name: tuple(key.id for key in vendor.keys) for vendor in snapshot.vendors},
        saved_at=now,
        confirmed_at=confirmed_at + behind_s,
        answered_at=answered_at + behind_s,
        keys=tuple(SavedKey(one.key, one.verified_at + behind_s) for one in sightings if one.key is not None),
    )


def restored(saved: SavedSnapshot, now: Moment, window_s: float) -> Restored | TooOld:
    """Judge what was saved: only what was verified within the window counts, and without an answer in it nothing.

    Raises:
        CatalogueInvalid: the saved catalogue does not compile; another release may have saved it.
    """
    answered_ago_s = _age_s(saved.answered_at, saved.saved_at, now)
    if answered_ago_s >= window_s:
        return TooOld(answered_ago_s)
    aged = (AgedKey(one.key, _age_s(one.verified_at, saved.saved_at, now)) for one in saved.keys)
    return Restored(
        snapshot=compile_snapshot(saved.catalogue, version=saved.version, key_ids=saved.key_ids),
        confirmed_ago_s=_age_s(saved.confirmed_at, saved.saved_at, now),
        answered_ago_s=answered_ago_s,
        keys=tuple(one for one in aged if one.age_s < window_s),
    )


def _age_s(at: float, saved_at: Moment, now: Moment) -> float:
    """Give how old a saved moment is at least; one that is yet to come is older than any window."""
    if at > now.wall:
        return math.inf
    elapsed_s = now.wall - saved_at.wall
    if saved_at.monotonic is not None and now.monotonic is not None:
        elapsed_s = max(elapsed_s, now.monotonic - saved_at.monotonic)
    return elapsed_s + saved_at.wall - at
