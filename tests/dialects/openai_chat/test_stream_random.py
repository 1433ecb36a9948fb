"""The observer against a slow reader that parses every event: thousands of random streams, cut anywhere."""

import json
import re
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.dialects.openai_chat.stream import StreamObserver
from ktms.dialects.openai_chat.usage import read_usage
from ktms.domain.call import Route

T = TypeVar("T")
TEXT_NAMES = {"content", "text", "reasoning_content", "reasoning", "thinking", "refusal", "arguments"}
CONTENTS = [
    "a",
    "",
    " the",
    '"model":"gpt"',
    ',"model":"gpt"',
    "\\",
    "\n\n",
    "\r",
    "é한🙂",
    "\u2028",
    '"usage":{',
    "x" * 300,
]
CONTENTS += ['{"error":{}}', '"finish_reason":"stop"', "data: [DONE]", "\\u0041", '\\"', "data: {", '"}]}']


class Dice:
    """Chance from one number: an example is repeated by its seed."""

    def __init__(self, seed: int) -> None:
        self.state = seed * 2654435761 + 1

    def below(self, sides: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % sides

    def one_in(self, sides: int) -> bool:
        return self.below(sides) == 0

    def pick(self, values: list[T]) -> T:
        return values[self.below(len(values))]


class Vendor:
    """Writes a random stream: one spelling of its own, and all that peers have been seen to send in between."""

    def __init__(self, dice: Dice, *, legacy: bool) -> None:
        self.dice = dice
        self.legacy = legacy
        self.separators = dice.pick([(",", ":"), (", ", ": "), (" ,", " : ")])
        self.ascii = dice.one_in(2)
        self.prefix = dice.pick(["data: ", "data:", "data:  "])
        self.line_end = dice.pick(["\n", "\r\n", "\r", ""])  # empty: each event its own
        self.model = dice.pick(["gpt", "", "/m/x.gguf", None, {"model": "gpt", "content": "x"}])
        self.order = dice.pick(["model first", "model last", "no model", "model twice"])
        self.extra = dice.pick(["nothing", "usage null", "cumulative", "obfuscation", "nested model", "created"])
        self.choices = dice.pick([1, 1, 1, 2, 3])
        self.sent = 0

    def dumps(self, value: object) -> str:
        return json.dumps(value, separators=self.separators, ensure_ascii=self.ascii)

    def event(self, *lines: str) -> str:
        line_end = self.line_end or self.dice.pick(["\n", "\r\n", "\r"])
        return "".join(line + line_end for line in (*lines, ""))

    def chunk(self, choices: list[object], usage: object = None) -> str:
        members: list[tuple[str, object]] = [("id", "1"), ("choices", choices), ("object", "c")]
        if self.order == "model first":
            members.insert(1, ("model", self.model))
        elif self.order != "no model":
            members.append(("model", self.model))
        if self.order == "model twice":
            members.insert(0, ("model", "gpt"))
        self.sent += 1
        extras: dict[str, tuple[str, object]] = {
            "usage null": ("usage", None),
            "cumulative": ("usage", {"prompt_tokens": 3, "completion_tokens": self.sent, "details": {"a": 1}}),
            "obfuscation": ("obfuscation", "x" * self.dice.below(9)),
            "nested model": ("x", {"model": "gpt", "a": [{"model": "gpt"}]}),
            "created": ("created", self.sent // 3),
        }
        if usage is not None:
            members.append(("usage", usage))
        elif self.extra in extras:
            members.append(extras[self.extra])
        gap, colon = self.separators
        text = "{" + gap.join(self.dumps(name) + colon + self.dumps(value) for name, value in members) + "}"
        return self.event(self.prefix + text)

    def delta(self) -> dict[str, object]:
        content = self.dice.pick(CONTENTS)
        shapes: list[dict[str, object]] = [
            {"role": "assistant", "content": ""},
            {"content": content},
            {"content": content},
            {"content": content},
            {"content": "", "reasoning": content},
            {"reasoning_content": content, "content": None},
            {"tool_calls": [{"index": 0, "function": {"arguments": content}}]},
            {"reasoning_details": [{"text": content, "model": "gpt"}], "reasoning": content},
            {"content": content, "model": "gpt"},
            {"audio": {"id": content}},
            {},
        ]
        return self.dice.pick(shapes)

    def choice(self, index: int, finish: str | None) -> dict[str, object]:
        if self.legacy:
            return {"index": index, "text": self.dice.pick(CONTENTS), "finish_reason": finish}
        return {"index": index, "delta": {} if finish else self.delta(), "finish_reason": finish}

    def noise(self) -> str:
        pretty = json.dumps({"model": self.model, "x": [1, {"a": "b"}]}, indent=1).split("\n")
        return self.dice.pick(
            [
                self.event(": ping"),
                self.event("id: 3", "event: x", ": y"),
                self.event("retry: 10"),
                self.event("id: 1", "retry: 2", 'data: {"id":"9"}'),
                self.event("event: m", "foo: bar", 'data: {"id":"9"}'),
                self.event(*(self.prefix + line for line in pretty)),
                self.event("data"),
                self.event(),
            ]
        )

    def stream(self) -> bytes:
        dice = self.dice
        out = []
        for _ in range(dice.below(30)):
            out.append(self.chunk([self.choice(dice.below(self.choices), None)]))
            if dice.one_in(8):
                out.append(self.noise())
            if dice.one_in(60):
                out.append(self.event('data: {"error":{"message":"boom","code":500}}'))
            if dice.one_in(60):
                out.append(self.event("data: garbage"))
        out += [self.chunk([self.choice(index, "stop")]) for index in range(self.choices)]
        if not dice.one_in(4):
            out.append(self.chunk([], {"prompt_tokens": 3, "completion_tokens": 4}))
        out.append(self.event("data: [DONE]"))
        text = "".join(out)
        return (text.rstrip("\r\n") if dice.one_in(4) else text).encode()


@dataclass
class Seen:
    """What the slow reader found."""

    events: list[str] = field(default_factory=list)
    visible_events: int = 0
    content_bytes: int = 0
    usage: bytes | None = None
    ended: str = ""
    seen: set[int] = field(default_factory=set)
    finished: set[int] = field(default_factory=set)


def reference(stream: bytes, *, asked: bool, legacy: bool) -> Seen:
    """Parse each event whole, with the standard library."""
    found = Seen()
    text = stream.decode().replace("\r\n", "\n").replace("\r", "\n")
    for event in text.split("\n\n"):
        lines = [line for line in event.split("\n") if line and not line.startswith((":", "id:", "retry:"))]
        payload = "\n".join(line.partition(":")[2].removeprefix(" ") for line in lines if line.startswith("data"))
        if not payload.strip():
            continue
        if payload.strip() == "[DONE]":
            found.ended = "done"
            return found
        try:
            chunk = json.loads(payload)
        except ValueError:
            found.ended = "malformed"
            return found
        if chunk.get("error"):
            found.ended = "error"
            return found
        note(found, chunk, payload, legacy=legacy)
        if asked or not (isinstance(chunk.get("usage"), dict) and not chunk.get("choices")):
            found.events.append(edited(lines, payload))
    return found


def note(found: Seen, chunk: dict[str, object], payload: str, *, legacy: bool) -> None:
    if isinstance(chunk.get("usage"), dict):
        found.usage = json.dumps(chunk["usage"]).encode()
    choices = chunk.get("choices", [])
    assert isinstance(choices, list)
    ascii_only = payload.isascii()
    visible = False
    for choice in choices:
        found.seen.add(choice["index"])
        delta = {"text": choice["text"]} if legacy else choice["delta"]
        shown = {name: value for name, value in delta.items() if name != "role" and value}
        found.content_bytes += sum(text_bytes(value, ascii_only=ascii_only) for value in shown.values())
        if choice["finish_reason"]:
            found.finished.add(choice["index"])
        visible = visible or bool(shown) or bool(choice["finish_reason"])
    found.visible_events += visible


def text_bytes(value: object, *, ascii_only: bool, named: bool = True) -> int:
    if isinstance(value, str):
        raw = json.dumps(value, ensure_ascii=ascii_only)[1:-1].encode() if named else b""
        escapes = raw.replace(b"\\\\", b"..")
        return max(bool(raw), len(raw) - raw.count(b"\\\\") - escapes.count(b"\\") - 2 * raw.count(b"\\u"))
    if isinstance(value, list):
        return sum(text_bytes(entry, ascii_only=ascii_only, named=False) for entry in value)
    if isinstance(value, dict):
        return sum(
            text_bytes(entry, ascii_only=ascii_only, named=name in TEXT_NAMES) for name, entry in value.items()
        )
    return 0


def edited(lines: list[str], payload: str) -> str:
    span = model_span(payload)
    if span is not None:
        start, end = span
        payload = payload[:start] + '"public"' + payload[end:]
    pieces = payload.split("\n")
    data = [line for line in lines if line.startswith("data")]
    if len(pieces) != len(data):
        pieces_of = iter(["data: " + piece for piece in pieces])
    else:
        heads = [line[: len(line) - len(line.partition(":")[2].removeprefix(" "))] for line in data]
        pieces_of = iter([head + piece for head, piece in zip(heads, pieces, strict=True)])
    out = [next(pieces_of, None) if line.startswith("data") else line for line in lines]
    return "\n".join(line for line in out if line is not None)


def model_span(payload: str) -> tuple[int, int] | None:
    """Where the first top-level `model` has its value: found with the standard decoder, member by member."""
    decoder = json.JSONDecoder()
    skip = re.compile(r"[\s,:{]*")
    at = skip.match(payload, 0).end()  # type: ignore[union-attr] # always matches
    while payload[at] == '"':
        name, at = decoder.raw_decode(payload, at)
        start = re.compile(r"\s*:\s*").match(payload, at).end()  # type: ignore[union-attr] # valid JSON
        _, end = decoder.raw_decode(payload, start)
        if name == "model":
            return start, end
        at = re.compile(r"[\s,]*").match(payload, end).end()  # type: ignore[union-attr] # always matches
    return None


def normal(out: bytes) -> list[str]:
    text = out.decode().replace("\r\n", "\n").replace("\r", "\n")
    return [event for event in text.split("\n\n") if event]


def pieces_of(stream: bytes, dice: Dice) -> list[bytes]:
    largest = dice.pick([1, 3, 50, 400, 4000])
    pieces = []
    at = 0
    while at < len(stream):
        size = 1 + dice.below(largest)
        pieces.append(stream[at : at + size])
        at += size
    return pieces


@pytest.mark.parametrize("route", [Route.CHAT, Route.COMPLETIONS])
@settings(max_examples=1000, deadline=None)
@given(seed=st.integers(0, 2**48), asked=st.booleans())
def test_the_observer_sees_what_a_full_parse_of_every_event_sees(route: Route, seed: int, asked: bool) -> None:
    dice = Dice(seed)
    legacy = route is Route.COMPLETIONS
    vendor = Vendor(dice, legacy=legacy)
    stream = vendor.stream()
    expected = reference(stream, asked=asked, legacy=legacy)
    watch = StreamObserver("public", route=route, usage_asked=asked, answers=vendor.choices)
    out = b"".join(watch.feed(piece) for piece in pieces_of(stream, dice)) + watch.end()
    assert normal(out) == expected.events
    ended = [name for name in ("done", "malformed", "error") if getattr(watch, name)]
    assert ended == [expected.ended]
    assert watch.visible_events == expected.visible_events
    assert watch.visible == (expected.visible_events > 0)
    assert watch.content_bytes == expected.content_bytes
    assert watch.usage == (None if expected.usage is None else read_usage(expected.usage))
    assert watch.finished == (len(expected.finished) >= vendor.choices and expected.finished >= expected.seen)


@pytest.mark.parametrize("seed", range(12))
def test_the_output_does_not_depend_on_where_a_stream_is_cut(seed: int) -> None:
    stream = Vendor(Dice(seed), legacy=False).stream()
    whole = StreamObserver("public", route=Route.CHAT, usage_asked=False)
    want = normal(whole.feed(stream) + whole.end())
    for cut in range(0, len(stream), 1 + len(stream) // 400):
        watch = StreamObserver("public", route=Route.CHAT, usage_asked=False)
        assert normal(watch.feed(stream[:cut]) + watch.feed(stream[cut:]) + watch.end()) == want
