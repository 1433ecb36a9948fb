"""Request headers of the OpenAI door: which are read, which travel on, which are refused.

An allow-list: whatever is not named here is neither read nor forwarded. One pass over the raw headers.
"""

from dataclasses import dataclass

from ktms.domain.call import NO_CHOICES, Choices
from ktms.domain.errors import CallFailed, ErrorCode, problem
from ktms.domain.placement import placement_named

RawHeaders = tuple[tuple[bytes, bytes], ...]

_READ = frozenset(
    {
        b"authorization",
        b"x-api-key",
        b"connection",
        b"content-encoding",
        b"expect",
        b"idempotency-key",
        b"x-ktms-placement",
        b"x-ktms-tier",
        b"x-ktms-interactive",
        b"x-ktms-cache",
        b"traceparent",
        b"openai-beta",
    }
)
_GIVEN_ONCE = frozenset(name for name in _READ if name.startswith(b"x-")) | {
    b"authorization",
    b"idempotency-key",
}
"""Given twice, nobody can tell which is meant; a proxy may have added one that says something else."""

_TRAVEL = {b"traceparent": "traceparent", b"openai-beta": "OpenAI-Beta"}
_FORWARDED_MAX_BYTES = 1024  # a feature header is a short list of words; more is not one

ONCE_MAX_CHARS = 255
"""A UUID has 36 characters; the store's column says the same."""

SPELLINGS_MAX = 512
"""Spellings of header names remembered; beyond it a name is lowered each time (a client can invent names)."""


@dataclass(slots=True)
class RequestHeaders:
    """What the door takes from the headers; `once`: the client's word for a call that is not to be paid twice."""

    token: str = ""
    choices: Choices = NO_CHOICES
    encoding: str = ""
    expects: str = ""
    once: str | None = None
    forwarded: tuple[tuple[str, str], ...] = ()


class HeaderReader:
    """Reads request headers; remembers how names are spelled, since clients spell them alike."""

    def __init__(self) -> None:
        self._spellings: dict[bytes, bytes] = {}

    def read(self, raw: RawHeaders) -> RequestHeaders:
        """Read what is allowed.

        Raises:
            CallFailed: 400 for a header that stands once and is given twice, two different credentials, or a value
                that cannot be.
        """
        seen: dict[bytes, bytes] = {}
        for name, value in raw:
            known = self._spellings.get(name)
            if known is None:
                known = self._learn(name)
            if known:
                if known in seen and known in _GIVEN_ONCE:
                    raise _bad(f"Header {known.decode()} is given twice.", None)
                seen[known] = value
        found = RequestHeaders(token=_token(seen))
        if len(seen) > 1 or not found.token:
            found.encoding = _text(seen, b"content-encoding").lower()
            found.expects = _text(seen, b"expect").lower()
            found.once = _once(seen)
            found.forwarded = _forwarded(seen)
            found.choices = _choices(seen)
        return found

    def _learn(self, name: bytes) -> bytes:
        lowered = name.lower()
        known = lowered if lowered in _READ else b""
        if len(self._spellings) < SPELLINGS_MAX:
            self._spellings[name] = known
        return known


def _text(seen: dict[bytes, bytes], name: bytes) -> str:
    return seen.get(name, b"").decode("latin-1").strip()


def _token(seen: dict[bytes, bytes]) -> str:
    bearer = _text(seen, b"authorization")
    if bearer[:7].lower() == "bearer ":
        bearer = bearer[7:].strip()
    direct = _text(seen, b"x-api-key")
    if bearer and direct and bearer != direct:
        raise _bad("Authorization and x-api-key name different keys; send one.", None)
    return bearer or direct


def _forwarded(seen: dict[bytes, bytes]) -> tuple[tuple[str, str], ...]:
    hop_by_hop = {token.strip().lower() for token in seen.get(b"connection", b"").split(b",")}
    return tuple(
        (spelled, _text(seen, name))
        for name, spelled in _TRAVEL.items()
        if name in seen and name not in hop_by_hop and len(seen[name]) <= _FORWARDED_MAX_BYTES
    )


def _once(seen: dict[bytes, bytes]) -> str | None:
    if b"idempotency-key" not in seen:
        return None
    once = _text(seen, b"idempotency-key")
    if not 1 <= len(once) <= ONCE_MAX_CHARS or not once.isascii() or not once.isprintable():
        raise _bad(f"Idempotency-Key is 1 to {ONCE_MAX_CHARS} printable ASCII characters.", "Idempotency-Key")
    return once


def _choices(seen: dict[bytes, bytes]) -> Choices:
    placement_text = _text(seen, b"x-ktms-placement")
    placement = placement_named(placement_text.lower()) if placement_text else None
    if placement_text and placement is None:
        raise _bad("X-KTMS-Placement is nodes_first, nodes_only, cloud_first or cloud_only.", "X-KTMS-Placement")
    tier = _text(seen, b"x-ktms-tier") or None
    interactive = _switch(_text(seen, b"x-ktms-interactive"), "X-KTMS-Interactive", "true", "false")
    cache = _switch(_text(seen, b"x-ktms-cache"), "X-KTMS-Cache", "on", "off")
    if placement is None and tier is None and interactive is None and cache is None:
        return NO_CHOICES
    return Choices(placement, tier, interactive, cache)


def _switch(text: str, header: str, yes: str, no: str) -> bool | None:
    match text.lower():
        case "":
            return None
        case word if word == yes:
            return True
        case word if word == no:
            return False
    raise _bad(f"{header} is {yes} or {no}.", header)


def _bad(message: str, param: str | None) -> CallFailed:
    return CallFailed(problem(ErrorCode.INVALID_REQUEST, message, param=param))
