"""A saved snapshot as bytes and back: MessagePack, which knows infinite numbers and bytes as they are.

These bytes hold vendor keys and node tokens in plain text: they exist in memory alone, and are sealed before they
go anywhere (`snapshot_file.py`). Another release may have written them: members that this one does not know are
ignored, missing ones take their defaults, and what still does not fit is one error.
"""

from dataclasses import dataclass, replace

import msgspec

from ktms.domain.access.secret import Secret
from ktms.domain.joined_node import leaving
from ktms.domain.saved_snapshot import SavedKey, SavedSnapshot

FORM = 1
"""Counts up when older releases could no longer read what is written."""


KEYS_PER_PIECE = 1000
"""Some 2 ms of encoding: between two pieces calls go on."""


class FormUnknown(ValueError):
    """These bytes are no saved snapshot of this release."""


@dataclass(frozen=True, slots=True)
class _Written:
    """What is written, its keys apart. `leaving` names the nodes that drain, which a declared node never does.

    `boot`: the start of the machine that `saved_at.monotonic` counts from.
    """

    form: int
    boot: str
    leaving: tuple[str, ...]
    saved: SavedSnapshot


def encode_snapshot(saved: SavedSnapshot, boot: str) -> bytes:
    """Write it, secrets as they are."""
    names = tuple(node.name for node in saved.catalogue.nodes if node.draining)
    written = _Written(FORM, boot, names, replace(saved, keys=()))
    keys = (
        msgspec.msgpack.encode(saved.keys[start : start + KEYS_PER_PIECE])
        for start in range(0, len(saved.keys), KEYS_PER_PIECE)
    )
    return msgspec.msgpack.encode([msgspec.msgpack.encode(written, enc_hook=_plain), *keys])


def decode_snapshot(data: bytes, boot: str) -> SavedSnapshot:
    """Read it; its monotonic moment is left out unless it was saved since this start of the machine.

    Raises:
        FormUnknown: it is none, or of another form.
    """
    try:
        first, *others = msgspec.msgpack.decode(data, type=list[bytes])
        written = msgspec.msgpack.decode(first, type=_Written, dec_hook=_secret)
        pieces = [msgspec.msgpack.decode(piece, type=tuple[SavedKey, ...]) for piece in others]
    except (msgspec.DecodeError, ValueError) as error:
        raise FormUnknown from error
    if written.form != FORM:
        raise FormUnknown
    saved, gone = written.saved, frozenset(written.leaving)
    nodes = tuple(leaving(node) if node.name in gone else node for node in saved.catalogue.nodes)
    moment = saved.saved_at if boot and written.boot == boot else replace(saved.saved_at, monotonic=None)
    return replace(
        saved,
        catalogue=replace(saved.catalogue, nodes=nodes),
        saved_at=moment,
        keys=tuple(key for piece in pieces for key in piece),
    )


def _plain(value: object) -> object:
    assert isinstance(value, Secret), "all else MessagePack knows"
    return value.reveal()


def _secret(kind: type, value: object) -> object:
    assert kind is Secret, kind
    if not isinstance(value, str):
        raise TypeError("a secret is text")
    return Secret(value)
