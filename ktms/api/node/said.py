"""The body of an announcement: JSON in, an `Announcement` out, or one problem that names the field.

Strict about every member that is known, blind to others: a newer agent may tell more than an older gateway takes.
Values are never repeated in a message. Not here: which values are sensible (`domain/announcement.py`).
"""

import re

import msgspec

from ktms.dialects.json import BadJson, top_level
from ktms.domain.access.secret import Secret
from ktms.domain.announcement import AnnouncedModel, Announcement
from ktms.domain.catalogue import EngineKind
from ktms.domain.errors import CallFailed, ErrorCode, problem

ENGINES = tuple(kind for kind in EngineKind if kind is not EngineKind.DEMO)
"""What may stand behind an agent; the demo node is registered by the gateway itself."""


class _Model(msgspec.Struct, frozen=True):
    name: str
    context_window: int | None = None
    loaded: bool | None = None


class _Body(msgspec.Struct, frozen=True):
    url: str
    token: str
    engine: str
    epoch: int
    slots: int
    models: list[_Model]
    draining: bool = False
    engine_version: str | None = None
    certificate: str | None = None


_decode = msgspec.json.Decoder(_Body).decode
_PLACE = re.compile(r"(?s)(.*?)(?: - at `\$\.?(.*)`)?")
_INDEX = re.compile(r"\[(\d+)\]")
_MISSING = re.compile(r"Object missing required field `(\w+)`")


def read_said(body: bytes) -> Announcement:
    """Read an announcement.

    Raises:
        CallFailed: 400, naming the member that is wrong.
    """
    try:
        top_level(body)
        said = _decode(body)
    except BadJson as error:
        raise wrong("", error.message) from error
    except msgspec.ValidationError as error:
        raise _wrong_member(str(error)) from error
    except msgspec.DecodeError as error:
        raise wrong("", "the body is not JSON") from error
    return Announcement(
        url=said.url,
        token=Secret(said.token),
        engine=_engine(said.engine),
        epoch_ms=said.epoch,
        slots=said.slots,
        models=tuple(AnnouncedModel(model.name, model.context_window, model.loaded) for model in said.models),
        draining=said.draining,
        engine_version=said.engine_version or None,
        certificate=said.certificate,
    )


def wrong(member: str, message: str) -> CallFailed:
    """Make the refusal of one member; an empty name stands for the whole body."""
    text = f"{member}: {message}" if member else message[:1].upper() + message[1:]
    return CallFailed(problem(ErrorCode.INVALID_REQUEST, f"{text}.", param=member or None))


def _engine(text: str) -> EngineKind:
    found = next((kind for kind in ENGINES if kind.value == text), None)
    if found is None:
        raise wrong("engine", f"must be one of {', '.join(kind.value for kind in ENGINES)}")
    return found


def _wrong_member(text: str) -> CallFailed:
    """Put msgspec's complaint, which quotes no value, into our form."""
    match = _PLACE.fullmatch(text)
    assert match is not None, "the pattern takes every text"
    message, place = match[1], _INDEX.sub(r".\1", match[2] or "").lstrip(".")
    missing = _MISSING.fullmatch(message)
    if missing is not None:
        member = f"{place}.{missing[1]}" if place else missing[1]
        return wrong(member, "is missing")
    return wrong(place, message[:1].lower() + message[1:].replace("`", ""))
