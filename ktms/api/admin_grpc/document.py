"""The catalogue as one JSON document, as it travels over the admin plane: format 1.

`{"format": 1, "catalogue": {…}}`, field names those of the domain's catalogue, secrets as plain text. It exists on
the wire alone: never stored, never logged. Strict: a field this release does not know is refused, since dropping
one (say `allowed_regions`) could open what the operator closed.
Not here: YAML (config), the rules (`domain/catalogue_rules.py`).
"""

import math

import msgspec

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue

FORMAT = 1


class DocumentInvalid(Exception):
    """The bytes are no catalogue of this format; the message names the field, never a value."""


def encode_catalogue(catalogue: Catalogue) -> bytes:
    """Write a catalogue with the secrets it holds."""
    plain = _plain(catalogue)
    if math.isinf(catalogue.policy.band):
        plain["policy"] = {**msgspec.to_builtins(catalogue.policy), "band": INFINITE}  # JSON has no infinity
    return msgspec.json.encode({"format": FORMAT, "catalogue": plain})


def decode_catalogue(document: bytes) -> Catalogue:
    """Read a catalogue.

    Raises:
        DocumentInvalid: not JSON, another format, a wrong type or an unknown field.
    """
    try:
        envelope = msgspec.json.decode(document, type=_Envelope)
        given = envelope.catalogue
        policy = given.get("policy")
        if isinstance(policy, dict) and policy.get("band") == INFINITE:
            policy["band"] = math.inf
        catalogue = msgspec.convert(given, Catalogue, dec_hook=_read_secret)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DocumentInvalid(_reason(error)) from error
    unknown = _unknown(given, _plain(catalogue), "catalogue")
    if unknown is not None:
        raise DocumentInvalid(f"{unknown}: unknown field; is the gateway older than this document?")
    return catalogue


INFINITE = "inf"


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    format: int
    catalogue: dict[str, object]

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(f"format {self.format} is not {FORMAT}")


def _plain(catalogue: Catalogue) -> dict[str, object]:
    plain = msgspec.to_builtins(catalogue, enc_hook=_write_secret)
    assert isinstance(plain, dict), "a dataclass becomes a mapping"
    return plain


def _write_secret(value: object) -> str:
    assert isinstance(value, Secret), f"a catalogue holds no {type(value).__name__}"
    return value.reveal()


def _read_secret(kind: type, value: object) -> Secret:
    assert kind is Secret, f"a catalogue holds no {kind.__name__}"
    if not isinstance(value, str):
        raise ValueError("expected a secret as text")  # noqa: TRY004 - msgspec adds the path to a ValueError
    return Secret(value)


def _reason(error: Exception) -> str:
    """Words of msgspec: types and paths; of values it repeats only wrong words of closed lists."""
    return "nested too deeply" if isinstance(error, RecursionError) else str(error).replace("`", "'")


def _unknown(given: object, known: object, path: str) -> str | None:
    """Find the first field of `given` that reading and writing again did not keep."""
    if isinstance(given, dict) and isinstance(known, dict):
        pairs = [(f"{path}.{key}", value, known.get(key, _ABSENT)) for key, value in given.items()]
    elif isinstance(given, list) and isinstance(known, list | tuple):
        pairs = [(f"{path}[{n}]", *pair) for n, pair in enumerate(zip(given, known, strict=True))]
    else:
        return None
    for where, value, kept in pairs:
        found = where if kept is _ABSENT else _unknown(value, kept, where)
        if found is not None:
            return found
    return None


_ABSENT = object()
