"""What applying a catalogue will do, decided before anything is written; every store acts on the same plan.

Not here: the rules of a catalogue (`catalogue_rules.py`), how entries differ (`catalogue_diff.py`), writing.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from ktms.domain.access.key_form import read_key, same_digest
from ktms.domain.catalogue import Catalogue, ClientKeySpec
from ktms.domain.catalogue_diff import Change, diff, merge
from ktms.domain.catalogue_rules import CatalogueInvalid, complaints
from ktms.domain.complaint import Complaint
from ktms.domain.ids import KeyId


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A client key as stored, revoked ones included: an id is used once and for ever."""

    id: KeyId
    name: str
    digest: bytes
    revoked: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """`merged` is the catalogue that holds afterwards; no changes means there is nothing to write."""

    merged: Catalogue
    changes: tuple[Change, ...]


def plan_apply(stored: Catalogue, wanted: Catalogue, keys: Collection[StoredKey], *, prune: bool) -> Plan:
    """Decide what applying `wanted` does.

    `stored` may come with secrets opened; `keys` are all stored client keys. A given client key secret that is the
    stored one counts as not given, so applying a file twice changes nothing.

    Raises:
        CatalogueInvalid: the result would not hold together, or a given key is taken or was revoked.
    """
    by_id = {key.id: key for key in keys}
    wanted = replace(wanted, client_keys=tuple(_without_known(key, by_id) for key in wanted.client_keys))
    merged = merge(stored, wanted, prune=prune)
    found = (*complaints(merged), *_taken(wanted, by_id))
    if found:
        raise CatalogueInvalid(found)
    return Plan(merged, diff(stored, wanted, prune=prune))


def _without_known(spec: ClientKeySpec, by_id: Mapping[KeyId, StoredKey]) -> ClientKeySpec:
    text = read_key(spec.secret.reveal()) if spec.secret else None
    known = by_id.get(text.id) if text else None
    if text is None or known is None or known.revoked or known.name != spec.name:
        return spec
    return replace(spec, secret=None) if same_digest(known.digest, text.digest) else spec


def _taken(wanted: Catalogue, by_id: Mapping[KeyId, StoredKey]) -> Iterator[Complaint]:
    for index, spec in enumerate(wanted.client_keys):
        text = read_key(spec.secret.reveal()) if spec.secret else None
        known = by_id.get(text.id) if text else None
        if known is not None:
            reason = "was revoked for good" if known.revoked else "belongs to another client key already"
            yield Complaint(
                ("client_keys", index, "secret"), f"{reason}: give another one, or none to have it made"
            )
