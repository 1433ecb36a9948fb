"""What vendors and engines call an error, in whatever shape, brought into one form.

Rules: nothing here raises; a message is cut, is one line, and loses what must not be shown (keys, credentials in
URLs, internal addresses). The status is a hint read from the error itself, for errors inside a 200; where there is
an HTTP status, that one counts. Not here: what follows from an error (domain/routing, vendors).
"""

import re
from dataclasses import dataclass

from ktms.dialects.json import BadJson, Members, as_json, is_empty, parsed

MAX_MESSAGE_CHARS = 300
"""How much of a vendor's message a client sees: enough to act on; more has been whole prompts quoted back."""

_MAX_NAME_CHARS = 64
_MAX_READ_CHARS = 8 * MAX_MESSAGE_CHARS  # bounds the work of cleaning
_NO_MESSAGE = "the upstream gave no message"
_HTML = "the upstream answered with a page instead of JSON"


@dataclass(frozen=True, slots=True)
class WireError:
    """One error of a vendor; `status` is what its code or type stands for, None where that is not known."""

    status: int | None
    code: str | None
    type: str | None
    message: str
    param: str | None


def error_in(document: object) -> WireError | None:
    """Find the error in a parsed answer or chunk; None where it holds none."""
    if isinstance(document, list) and document:  # Gemini's OpenAI route wraps errors in a list
        document = document[0]
    if not isinstance(document, dict):
        return None
    error = document.get("error")
    if isinstance(error, dict) and error:
        return _from_fields(error)
    if error:  # text (TGI, Ollama)
        return _from_fields({"message": error, "type": document.get("error_type"), "code": document.get("code")})
    if document.get("object") == "error":  # vLLM before 0.9, Mistral
        return _from_fields(document)
    return None


def error_among(members: Members, body: bytes) -> WireError | None:
    """Find the error in an answer or chunk that has been parsed; the rare one that has it is parsed again."""
    error = members.get("error")
    holds_one = members.get("object") == b'"error"' if error is None else not is_empty(error)
    return error_in(parsed(body)) if holds_one else None


def error_of_body(body: bytes) -> WireError:
    """Read the body of an answer with a status of 400 or more, whatever it is."""
    try:
        document = parsed(body)
    except BadJson:
        return WireError(None, None, None, _text_message(body), None)
    return error_in(document) or _unusual(document)


def clean_message(text: str) -> str:
    """One line of at most MAX_MESSAGE_CHARS without keys, URL credentials and internal addresses."""
    line = " ".join(_NOT_PRINTED.sub(" ", text[:_MAX_READ_CHARS]).split())
    for pattern, replacement in _SCRUBBED:
        line = pattern.sub(replacement, line)
    if len(line) > MAX_MESSAGE_CHARS:
        line = line[: MAX_MESSAGE_CHARS - 1] + "…"
    return line or _NO_MESSAGE


_NOT_PRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_HIDDEN = "***"
_INTERNAL = "[internal address]"
_PRIVATE_IP = (
    r"(?:(?:10|127)(?:\.\d{1,3}){3}|(?:169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2}"
    r"|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])(?:\.\d{1,3}){2}|0\.0\.0\.0)"
)
_KEY_NAMES = r"(?:api|access|secret)[-_ ]?key(?: provided)?|secret|password"
_KEY_HEADS = r"ktms|sk|pk|rk|gsk|xai|hf|ghp|nvapi|r8|tgp|pplx|csk|fw"
_LOCAL_NAMES = r"localhost|[a-z0-9][\w.-]*\.(?:internal|local|lan|svc|consul|home\.arpa)"
_PORT = r"(?::\d+)?"
_SCRUBBED = (
    (re.compile(r"(\w://)[^\s/@]+@"), r"\1"),
    (re.compile(r"\b(?i:(bearer|basic)) +(?=[\w.~+/*=-]*[0-9A-Z_])[\w.~+/*=-]{6,}"), rf"\1 {_HIDDEN}"),
    (re.compile(rf"(?i)\b(?:{_KEY_HEADS})[-_][\w*.-]{{7,}}[\w*]"), _HIDDEN),
    (re.compile(r"\bAIza[\w-]{10,}|\beyJ[\w-]+\.[\w.-]+"), _HIDDEN),
    (re.compile(rf"(?i)\b({_KEY_NAMES})([\"']?\s*[:=]\s*[\"']?)[\w.~+/*=-]{{6,}}"), rf"\1\2{_HIDDEN}"),
    (re.compile(rf"(?<![\w.]){_PRIVATE_IP}(?![\w.]*\d){_PORT}"), _INTERNAL),
    (re.compile(rf"(?i)\[(?:::1|f[cd][0-9a-f]{{2}}:[0-9a-f:]*|fe80:[0-9a-f:]*)(?:%\w+)?\]{_PORT}"), _INTERNAL),
    (re.compile(rf"(?i)(?<![\w.-])(?:{_LOCAL_NAMES})(?![\w.-]*\w){_PORT}"), _INTERNAL),
)


def _from_fields(fields: dict[str, object]) -> WireError:
    code, kind = _name(fields.get("code")), _name(fields.get("type"))
    names = (code, kind, _name(fields.get("status")))
    return WireError(
        status=next((status for name in names if (status := _status_of(name)) is not None), None),
        code=None if code is None or code.lstrip("-").isdecimal() else code,
        type=kind,
        message=clean_message(_text(fields.get("message"))),
        param=_name(fields.get("param")),
    )


def _unusual(document: object) -> WireError:
    """Shapes met only with an error status: FastAPI's `detail`, a bare `message`, a list of `errors`."""
    fields = document if isinstance(document, dict) else {"message": document}
    found = next((fields[name] for name in ("message", "detail", "errors", "title") if fields.get(name)), None)
    if isinstance(found, list):
        found = "; ".join(_entry(entry) for entry in found)
    return _from_fields({**fields, "message": found})


def _entry(entry: object) -> str:
    """One line of FastAPI's validation errors, or of a list of messages."""
    if not isinstance(entry, dict):
        return _text(entry)
    message = _text(entry.get("msg") or entry.get("message") or entry)
    place = entry.get("loc")
    if not isinstance(place, list):
        return message
    return f"{'.'.join(_text(step) for step in place)}: {message}"


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else as_json(value).decode()


def _name(value: object) -> str | None:
    if type(value) is int:
        return str(value)
    if not isinstance(value, str) or not value:
        return None
    return clean_message(value)[:_MAX_NAME_CHARS]


def _text_message(body: bytes) -> str:
    text = body[: 4 * _MAX_READ_CHARS].decode(errors="replace")
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        return _HTML
    return clean_message(text)


def _status_of(name: str | None) -> int | None:
    if name is None:
        return None
    if name.isdecimal():
        number = int(name)
        return number if 400 <= number <= 599 else None
    return _STATUSES.get(name.lower())


_STATUSES = {
    "invalid_request_error": 400,
    "invalid_argument": 400,
    "badrequesterror": 400,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "content_filter": 400,
    "content_policy_violation": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "permission_error": 403,
    "permission_denied": 403,
    "model_not_found": 404,
    "not_found": 404,
    "not_found_error": 404,
    "notfounderror": 404,
    "validation": 422,  # TGI
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "resource_exhausted": 429,
    "too_many_requests": 429,
    "overloaded": 429,  # TGI's own status for it
    "api_error": 500,
    "generation": 500,
    "incomplete_generation": 500,
    "internal": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "internalservererror": 500,
    "server_error": 500,
    "overloaded_error": 503,
    "service_unavailable": 503,
    "unavailable": 503,
    "unavailable_error": 503,
    "timeout": 504,
    "timeout_error": 504,
}
"""Names seen for errors inside a 200 (lower case); an unknown name has no status."""
