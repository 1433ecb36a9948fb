"""OpenAI requests: the few facts that routing needs, and the body as each target is to get it.

Rules: only fields that we read are judged, and each attempt is built from the client's original bytes: `model`
replaced, `ktms` and what the target must not see (N26) removed, `stream_options.include_usage` added where asked;
all else keeps its bytes (P30, P40).
`null` counts as absent. Not here: names, tiers and limits (domain/routing), defaults of keys and models.
"""

import msgspec

from ktms.dialects.json import BadJson, Span, as_json, decoded, splice, top_level
from ktms.dialects.openai_chat.prompt_size import (
    NO_PROMPT,
    PromptSize,
    size_of_input,
    size_of_messages,
    value_bytes,
)
from ktms.domain.call import NO_CHOICES, CallFacts, Choices, Route
from ktms.domain.placement import placement_named

HEAVY_BYTES = 64 * 1024
"""Above this a body is read off the loop: scanning takes longer than other calls should wait."""

MAX_ANSWERS = 128
"""OpenAI's own bound for `n`."""

MAX_TOKENS_ASKED = 1_000_000_000
"""Bounds sums in the limits; no model writes that much."""

NOTHING_WITHHELD: frozenset[str] = frozenset()

MAX_MODEL_CHARS = 512
"""Longest model name taken: it comes back in error messages."""

_MAX_DIGITS = 12  # int() is quadratic
_string = msgspec.json.Decoder(str).decode
_OURS = frozenset({"ktms"})
_READ_TOO = frozenset(
    {"tools", "functions", "response_format", "prediction", "suffix", "documents", "chat_template_kwargs"}
)
_CHOICES = ("placement", "tier", "interactive", "cache")


class BadRequest(Exception):
    """The client's body is not one that we take. Both texts are fit for the client; `param` names the field."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


class RequestBody:
    """One request body: its facts, and its bytes for each target.

    `longest_text_bytes` is the largest single input: for a list of inputs it, not the sum, must fit a window.
    """

    __slots__ = ("_last", "_made", "_spans", "_usage_edit", "facts", "longest_text_bytes", "raw")

    def __init__(
        self,
        raw: bytes,
        spans: dict[str, Span],
        facts: CallFacts,
        longest_text_bytes: int,
        usage_edit: "_Edit | None",
    ) -> None:
        self.raw = raw
        self.facts = facts
        self.longest_text_bytes = longest_text_bytes
        self._spans = spans
        self._usage_edit = usage_edit
        self._last: tuple[str, bool, frozenset[str]] | None = None
        self._made = b""

    def for_target(
        self, vendor_model: str, *, ask_usage: bool, withheld: frozenset[str] = NOTHING_WITHHELD
    ) -> bytes:
        """Write the body for one target; the last one made is kept, for an attempt that asks it again.

        `withheld`: names of top-level members, none that we read, which this target is not to get.
        """
        wanted = (vendor_model, ask_usage, withheld)
        if wanted != self._last:
            model = self._spans["model"]
            edits: list[_Edit] = [(model.start, model.end, as_json(vendor_model))]
            if "ktms" in self._spans or not withheld.isdisjoint(self._spans):
                edits += _removals(self._spans, withheld | _OURS)
            if ask_usage and self._usage_edit is not None:
                edits.append(self._usage_edit)
            self._made = splice(self.raw, sorted(edits))
            self._last = wanted
        return self._made


_Edit = tuple[int, int, bytes]


def is_heavy(body: bytes) -> bool:
    """Whether reading this body would hold up the loop."""
    return len(body) > HEAVY_BYTES


def read_request(body: bytes, route: Route) -> RequestBody:
    """Read a request of one of the model routes.

    Raises:
        BadRequest: not one JSON object, or a field that we read is wrong.
    """
    try:
        spans = top_level(body)
    except BadJson as error:
        raise BadRequest(error.message) from error
    fields = _Fields(body, spans)
    streamed = route is not Route.EMBEDDINGS and bool(fields.flag("stream"))
    asked, usage_edit = _usage(fields) if streamed else (False, None)
    size = _size(fields, route)
    answers = 1 if route is Route.EMBEDDINGS else fields.integer("n", 1, MAX_ANSWERS) or 1
    facts = CallFacts(
        fields.model(),
        streamed,
        asked,
        _max_tokens(fields, route),
        answers,
        size.text_bytes + _beside(fields),
        size.images,
        _choices(fields),
        _written(fields, route, answers, size),
    )
    return RequestBody(body, spans, facts, size.longest_bytes, usage_edit)


class _Fields:
    """Reads members of one object; `path` is put before their names in errors."""

    __slots__ = ("body", "path", "spans")

    def __init__(self, body: bytes, spans: dict[str, Span], path: str = "") -> None:
        self.body = body
        self.spans = spans
        self.path = path

    def raw(self, name: str) -> bytes | None:
        """JSON text of a value; None where it is absent or null."""
        span = self.spans.get(name)
        if span is None:
            return None
        value = self.body[span.start : span.end]
        return None if value == b"null" else value

    def bad(self, name: str, must: str) -> BadRequest:
        return BadRequest(f"`{self.path}{name}` must be {must}", f"{self.path}{name}")

    def model(self) -> str:
        model = self.text("model")
        if not model or len(model) > MAX_MODEL_CHARS:
            raise self.bad("model", f"a string of 1 to {MAX_MODEL_CHARS} characters")
        return model

    def text(self, name: str) -> str | None:
        raw = self.raw(name)
        if raw is None:
            return None
        if not raw.startswith(b'"'):
            raise self.bad(name, "a string")
        return decoded(_string, raw)

    def flag(self, name: str) -> bool | None:
        raw = self.raw(name)
        if raw not in (None, b"true", b"false"):
            raise self.bad(name, "a boolean")
        return None if raw is None else raw == b"true"

    def integer(self, name: str, low: int, high: int) -> int | None:
        raw = self.raw(name)
        if raw is None:
            return None
        number = int(raw) if raw.isdigit() and len(raw) <= _MAX_DIGITS else low - 1
        if not low <= number <= high:
            raise self.bad(name, f"a whole number from {low} to {high}")
        return number

    def object(self, name: str) -> "_Fields | None":
        raw = self.raw(name)
        if raw is None:
            return None
        try:
            return _Fields(raw, top_level(raw), f"{self.path}{name}.")
        except BadJson as error:
            raise self.bad(name, "an object that gives no name twice") from error


def _usage(fields: _Fields) -> tuple[bool, _Edit | None]:
    """Whether the client asked for usage, and else the edit that does so."""
    options = fields.object("stream_options")
    span = fields.spans.get("stream_options")
    if options is None:
        if span is not None:  # null
            return False, (span.start, span.end, b'{"include_usage":true}')
        end = next(reversed(fields.spans.values())).end
        return False, (end, end, b',"stream_options":{"include_usage":true}')
    if options.flag("include_usage"):
        return True, None
    assert span is not None, "options were read from it"
    given = options.spans.get("include_usage")
    if given is not None:
        return False, (span.start + given.start, span.start + given.end, b"true")
    more = b"," if options.spans else b""
    return False, (span.start + 1, span.start + 1, b'"include_usage":true' + more)


def _removals(spans: dict[str, Span], names: frozenset[str]) -> list[_Edit]:
    """Cut members, each with one comma: the one before it, or behind it where nothing that stays came before.

    There is always a member that stays, `model`, so neighbours that go overlap nowhere.
    """
    places = list(spans.values())
    edits: list[_Edit] = []
    stays = False
    for at, (name, span) in enumerate(spans.items()):
        if name not in names:
            stays = True
        elif stays:
            edits.append((places[at - 1].end, span.end, b""))
        else:
            edits.append((span.key, places[at + 1].key, b""))
    return edits


def _max_tokens(fields: _Fields, route: Route) -> int | None:
    if route is Route.EMBEDDINGS:
        return None
    low = 0 if route is Route.COMPLETIONS else 1  # a legacy completion may only echo
    legacy = fields.integer("max_tokens", low, MAX_TOKENS_ASKED)
    newer = fields.integer("max_completion_tokens", low, MAX_TOKENS_ASKED)
    return legacy if newer is None else max(newer, legacy or 0)


def _size(fields: _Fields, route: Route) -> PromptSize:
    if route is Route.CHAT:
        raw = fields.raw("messages")
        return NO_PROMPT if raw is None else size_of_messages(raw)
    raw = fields.raw("prompt" if route is Route.COMPLETIONS else "input")
    return NO_PROMPT if raw is None else size_of_input(raw)


def _beside(fields: _Fields) -> int:
    """Count what the model reads beside the prompt: whoever hides a book among the tools is to pay for it."""
    if _READ_TOO.isdisjoint(fields.spans):
        return 0
    return sum(
        value_bytes(fields.body[span.start : span.end]) for name, span in fields.spans.items() if name in _READ_TOO
    )


def _written(fields: _Fields, route: Route, answers: int, size: PromptSize) -> int:
    """Say how many answers the vendor writes and charges: several for each prompt where it keeps the best ones."""
    if route is not Route.COMPLETIONS:
        return answers
    best_of = fields.integer("best_of", 1, MAX_ANSWERS) or 1
    return max(answers, best_of) * max(size.prompts, 1)


def _choices(fields: _Fields) -> Choices:
    ktms = fields.object("ktms")
    if ktms is None:
        return NO_CHOICES
    for name in ktms.spans:
        if name not in _CHOICES:
            raise BadRequest("`ktms` has no such field", f"ktms.{name[:64]}")
    placement = None
    spelled = ktms.text("placement")
    if spelled is not None:
        placement = placement_named(spelled)
        if placement is None:
            raise ktms.bad("placement", "nodes_first, nodes_only, cloud_first or cloud_only")
    tier = ktms.text("tier")
    if tier == "":
        raise ktms.bad("tier", "the name of a tier")
    return Choices(placement, tier, ktms.flag("interactive"), _cache(ktms))


def _cache(ktms: _Fields) -> bool | None:
    raw = ktms.raw("cache")
    if raw is None:
        return None
    if raw not in _CACHE:
        raise ktms.bad("cache", '"on" or "off"')
    return _CACHE[raw]


_CACHE = {b'"on"': True, b'"off"': False, b"true": True, b"false": False}
