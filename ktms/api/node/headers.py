"""What the node door reads of a request's head: the key, and how the body comes."""

from dataclasses import dataclass

from ktms.api.inbound import RawHeaders
from ktms.domain.access.key_form import KeyKind, KeyText, read_key

_READ = frozenset({b"authorization", b"content-encoding", b"expect"})


@dataclass(frozen=True, slots=True)
class NodeHeaders:
    """`key` is None where there is no well-formed node key, or more than one."""

    key: KeyText | None
    encoding: str
    expects: str


def read_headers(raw: RawHeaders) -> NodeHeaders:
    """Read the head; whatever is not named here is not looked at."""
    found: dict[bytes, list[str]] = {}
    for name, value in raw:
        lowered = name.lower()
        if lowered in _READ:
            found.setdefault(lowered, []).append(value.decode("latin-1").strip())
    credentials = found.get(b"authorization", [])
    return NodeHeaders(
        key=_key(credentials[0]) if len(credentials) == 1 else None,
        encoding=",".join(found.get(b"content-encoding", ())).lower(),
        expects=",".join(found.get(b"expect", ())).lower(),
    )


def _key(text: str) -> KeyText | None:
    scheme, _, token = text.partition(" ")
    key = read_key(token.strip()) if scheme.lower() == "bearer" else None
    return key if key is not None and key.kind is KeyKind.NODE else None
