"""Canaries: strings that stand for content and credentials, and calls and answers that are full of them."""

from dataclasses import replace

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, TimeoutSpec
from tests.cases.forms import CHAT, COMPLETIONS, EMBEDDINGS, Form, StreamForm
from tests.world.catalogues import KEY, MODEL, catalogue, vendor
from tests.world.client import post
from tests.world.events import DONE, Json, compact, error_event
from tests.world.script import JSON, Framing, Step, answer, chunk, end, fin, head, hold, raw, rst, status, stream

PROMPT = "canary-prompt-heron"
COMPLETION = "canary-completion-egret"
VENDOR_KEYS = ("sk-canary-credential-stork", "0a1b2c3d4e5f60718293a4b5c6d7e8f9canary")
"""One of a form that anybody knows for a secret, and one that only its owner knows."""

CLIENT_SECRET = KEY.rpartition("_")[2]
CONTENT = (PROMPT, COMPLETION)
SECRETS = (*VENDOR_KEYS, CLIENT_SECRET)

ECHO_HEADERS = tuple(
    (name, f"{PROMPT} {COMPLETION}") for name in ("X-Echo", "Set-Cookie", "Server", "X-Ratelimit")
)


def canaries(form: Form) -> Form:
    """Give the form with members that carry the prompt, each in its own kind of place."""
    places: dict[str, dict[str, Json]] = {
        CHAT.target: {"messages": [{"role": "user", "content": PROMPT, "name": PROMPT}]},
        COMPLETIONS.target: {"prompt": PROMPT},
        EMBEDDINGS.target: {"input": [PROMPT]},
    }
    more: dict[str, Json] = {"user": PROMPT, "metadata": {PROMPT: PROMPT}, "stop": PROMPT}
    return replace(form, fields={**form.fields, **places[form.target], **more})


def echo(secret: str) -> bytes:
    """Say an error that repeats all a vendor knows, wherever an error has room for it."""
    told = f"bad key {secret} for {PROMPT}"
    return compact({"error": {"message": told, "type": PROMPT, "param": PROMPT, "code": PROMPT}, "detail": told})


def said(form: Form) -> tuple[Step, ...]:
    """Answer well, with the canary as the completion."""
    if isinstance(form, StreamForm):
        return stream(form.content(COMPLETION), form.content(COMPLETION), form.finish("stop"), DONE)
    return answer(form.body[:-1] + b',"said":"%b"}' % COMPLETION.encode())


def failures(form: Form, secret: str) -> list[tuple[Step, ...]]:
    """Give every way in which a vendor fails, full of canaries."""
    codes = (302, 400, 401, 403, 404, 408, 418, 422, 429, 500, 503)
    found = [status(code, ECHO_HEADERS, echo(secret)) for code in codes]
    found += [answer(echo(secret)), stream(event_of(echo(secret)))]
    found += [(raw(f"{COMPLETION}\r\n\r\n".encode()), hold()), (fin(),), (rst(),), (hold(),)]
    found += [answer(f"<html>{COMPLETION}{secret}".encode()), answer(b'{"%b' % COMPLETION.encode())]
    found += [(head(200, JSON, (("Content-Encoding", "br"), *ECHO_HEADERS)), chunk(COMPLETION.encode()), end())]
    found += [(head(200, JSON, framing=Framing.LENGTH, length=10**9), chunk(COMPLETION.encode()), hold())]
    if isinstance(form, StreamForm):
        text = form.content(COMPLETION)
        found += [(head(), chunk(text), fin()), (head(), chunk(text), hold())]
        found += [(head(), chunk(text + event_of(echo(secret))), end())]
        found += [(head(), chunk(text + b"data: {%b\n\n" % COMPLETION.encode()), end())]
        found += [(head(), chunk(error_event(f"{secret} {PROMPT}", code=400, name="error")), end())]
    return found


def event_of(body: bytes) -> bytes:
    return b"data: %b\n\n" % body


def refused_at_the_door(form: Form) -> list[bytes]:
    """Give requests that go no further, with canaries in every part of them."""
    body = compact(canaries(form).fields)
    bad_bodies = [
        body[:-1],
        body + PROMPT.encode(),
        f'"{PROMPT}"'.encode(),
        b'{"model":"%b","model":"%b"}' % (PROMPT.encode(), PROMPT.encode()),
        compact({"model": [PROMPT]}),
        compact({"model": MODEL, "ktms": {"placement": PROMPT}}),
        compact({"model": MODEL, "ktms": {"tier": PROMPT}}),
        compact({"model": MODEL, "ktms": PROMPT}),
        body.replace(PROMPT.encode(), PROMPT.encode() + b"\xff"),
        b'{"model":"%b","x":%b"%b"%b}' % (MODEL.encode(), b"[" * 80, PROMPT.encode(), b"]" * 80),
    ]
    if form is not EMBEDDINGS:
        bad_fields: tuple[dict[str, Json], ...] = ({"stream": PROMPT}, {"n": PROMPT}, {"max_tokens": [PROMPT]})
        bad_bodies += [compact({"model": MODEL, **fields}) for fields in bad_fields]
        bad_bodies.append(compact({"model": MODEL, "stream": True, "stream_options": PROMPT}))
    bad_keys = (KEY[:-1] + "x", f"{KEY}{PROMPT}", CLIENT_SECRET, f"ktms_sk_{PROMPT}", f"sk-{CLIENT_SECRET}")
    bad_headers = (
        ("x-api-key", f"{KEY}x"),
        ("X-KTMS-Placement", PROMPT),
        ("X-KTMS-Tier", PROMPT),
        ("Content-Encoding", PROMPT),
        ("Expect", PROMPT),
    )
    return [
        *(post(form.target, bad, key=KEY) for bad in bad_bodies),
        *(post(form.target, body, key=bad) for bad in bad_keys),
        *(post(form.target, body, key=KEY, headers=(bad,)) for bad in bad_headers),
        post(f"/v1/{PROMPT}?{CLIENT_SECRET}", body, key=KEY),
        post(f"{form.target}?q={PROMPT}", body[:-1], key=KEY),
        post(f"http://{PROMPT}/v1/models", body, key=KEY),
        f"PUT /v1/models HTTP/1.1\r\nHost: {PROMPT}\r\nX-Y: {CLIENT_SECRET}\r\n\r\n".encode(),
        f"{PROMPT} {CLIENT_SECRET}\r\n\r\n".encode(),
        f"GET / HTTP/1.1\r\nBad Header {PROMPT}\r\n\r\n".encode(),
    ]


def keyed(url: str, secret: str, timeouts: TimeoutSpec) -> Catalogue:
    """Declare one vendor with this key."""
    return catalogue(replace(vendor("canary", url, timeouts=timeouts), keys=(Secret(secret),)))
