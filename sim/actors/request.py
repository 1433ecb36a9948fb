"""One request of a simulated client: what it sends, and the canary words in it that nobody may ever log."""

import json
from dataclasses import dataclass

from sim.draft import CallDraft

PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions", "embeddings": "/v1/embeddings"}

CANARY = "unspeakable"
"""Begins every word of a prompt; a checker looks for it where no content may ever be."""


@dataclass(frozen=True, slots=True)
class Request:
    """Method, target, headers and body, before any framing."""

    method: str
    path: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def encoded(self) -> bytes:
        """Write it as HTTP/1.1."""
        lines = [b"%b %b HTTP/1.1" % (self.method.encode(), self.path.encode())]
        lines += [b"%b: %b" % header for header in self.headers]
        return b"\r\n".join((*lines, b"Content-Length: %d" % len(self.body), b"", self.body))


def question_of(number: str, call: CallDraft) -> str:
    """Name what a call asks: a retry that counts on not being paid twice says the same again."""
    return call.question or (_first(number) if call.once else number)


def word_of(number: str, call: CallDraft) -> str:
    """Give the Idempotency-Key of a call; empty without one."""
    return (call.word or f"once-{_first(number)}") if call.once else ""


def request_of(number: str, call: CallDraft, token: str) -> Request:
    """Write the request of a call; fakes read its length out of the prompt.

    Its number stands there too, or, where others ask the same, in a header that travels on.
    """
    question = question_of(number, call)
    words = " ".join(f"{CANARY}-{question}-{at}" for at in range(call.prompt_words))
    prompt = f"call={question} tokens={call.tokens} {words}"
    members: dict[str, object] = {"model": call.model}
    if call.route == "chat":
        members["messages"] = [{"role": "user", "content": prompt}]
    elif call.route == "completions":
        members["prompt"] = prompt
    else:
        members["input"] = prompt
    if call.streamed and call.route != "embeddings":
        members["stream"] = True
        if call.usage_asked:
            members["stream_options"] = {"include_usage": True}
    members |= dict(call.more)
    headers = [
        (b"Host", b"gateway"),
        (b"Content-Type", b"application/json"),
        (b"Authorization", b"Bearer " + token.encode()),
    ]
    if call.placement is not None:
        headers.append((b"X-KTMS-Placement", call.placement.encode()))
    if call.once:
        headers.append((b"Idempotency-Key", word_of(number, call).encode()))
    if question != number:
        headers.append((b"traceparent", f"call={number}".encode()))
    return Request("POST", call.path or PATHS[call.route], tuple(headers), json.dumps(members).encode())


def _first(number: str) -> str:
    """Give the number of the call that a retry repeats."""
    return number.partition("r")[0].removesuffix("s")
