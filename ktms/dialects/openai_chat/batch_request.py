"""The body of `POST /v1/batches`, read strictly: what it names, and nothing that we would not do."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from ktms.dialects.json import BadJson, decoded, top_level
from ktms.dialects.openai_chat.batch_line import ROUTES
from ktms.dialects.openai_chat.batch_objects import WINDOW
from ktms.dialects.openai_chat.request import BadRequest
from ktms.domain.batch.batch import METADATA_MAX, METADATA_NAME_MAX, METADATA_VALUE_MAX
from ktms.domain.batch.names import FileId, read_file_id
from ktms.domain.call import Route

_anything = msgspec.json.Decoder().decode
_KNOWN = frozenset({"input_file_id", "endpoint", "completion_window", "metadata"})


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """What a client wants. `input_file` None: it names a file that cannot exist."""

    input_file: FileId | None
    route: Route
    metadata: Mapping[str, str]


def read_batch_request(body: bytes) -> BatchRequest:
    """Read the body.

    Raises:
        BadRequest: not one JSON object, a member that nobody knows, or a wrong one.
    """
    try:
        members = {name: body[span.start : span.end] for name, span in top_level(body).items()}
    except (BadJson, RecursionError) as error:
        message = error.message if isinstance(error, BadJson) else "the body is nested too deeply"
        raise BadRequest(message) from error
    for name in members:
        if name not in _KNOWN:
            raise BadRequest("a batch has no such field", name[:METADATA_NAME_MAX])
    values = {name: _value(name, raw) for name, raw in members.items()}
    named, asked, window = (values.get(name) for name in ("input_file_id", "endpoint", "completion_window"))
    if not isinstance(named, str):
        raise BadRequest("`input_file_id` must be the id of a file", "input_file_id")
    route = ROUTES.get(asked) if isinstance(asked, str) else None
    if route is None:
        raise BadRequest(f"`endpoint` must be one of {', '.join(ROUTES)}", "endpoint")
    if window != WINDOW:
        raise BadRequest(f'`completion_window` must be "{WINDOW}"', "completion_window")
    return BatchRequest(read_file_id(named), route, _metadata(values.get("metadata")))


def _value(name: str, raw: bytes) -> object:
    try:
        return decoded(_anything, raw)
    except msgspec.ValidationError as error:  # a number that no float holds
        raise BadRequest(f"`{name}` is out of range", name) from error


def _metadata(value: object) -> Mapping[str, str]:
    if value is None:
        return {}
    fits = isinstance(value, dict) and len(value) <= METADATA_MAX
    if not fits or not all(_is_pair(name, text) for name, text in value.items()):  # type: ignore[attr-defined]  # a dict, as `fits` says
        must = (
            f"at most {METADATA_MAX} texts of {METADATA_VALUE_MAX} characters under names of {METADATA_NAME_MAX}"
        )
        raise BadRequest(f"`metadata` must be {must}", "metadata")
    assert isinstance(value, dict), "judged above"
    return value


def _is_pair(name: object, text: object) -> bool:
    """Whether both are short texts; U+0000 is one that no database keeps."""
    return (
        isinstance(name, str)
        and isinstance(text, str)
        and len(name) <= METADATA_NAME_MAX
        and len(text) <= METADATA_VALUE_MAX
        and "\0" not in name + text
    )
