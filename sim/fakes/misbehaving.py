"""What can go wrong with an answer on purpose: each fault takes the steps of a good answer and spoils them.

A fault says which row of the failure matrix it became once it has struck, since that depends on what the client
had seen by then. Not here: faults of the network, and what an engine does wrong by its nature (`engines/`).
"""

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from sim.fakes.dialect import Break, Page
from sim.fakes.steps import JSON, SSE, Cut, Head, How, Pause, Piece, Raw, Silence, Step, Steps
from sim.fakes.wire_text import DONE
from sim.seed import Chance

ENDLESS_PIECE = b"a" * (256 << 10)
ENDLESS_PAUSE_S = 0.05
"""An event without end comes at five megabytes a second, so that a bound is met before a timer."""

GARBAGE = (
    b'data: {"choices":[{"index":0,"delta":{"content":"\n\n',
    b"data: [1,2,3]\n\n",
    b"data: \xff\xfe\x00\n\n",
    b"data: <html><body>502 Bad Gateway</body></html>\n\n",
)
"""Events that are none."""

PAGES = (b"<html><body>502 Bad Gateway</body></html>", b'{"choices":[{"index":0,', b"[]", b"\xff\xfe\x00")
"""Bodies that are no answer."""

FOREIGN = str.maketrans({".": "\u00b7\u20ac", " ": "\u3000\U0001f600"})
"""How a token looks in letters of several bytes."""

NOT_HTTP = b"SSH-2.0-OpenSSH_9.6\r\n\r\n"
BAD_CHUNK = b"zz\r\nnot a chunk\r\n"

ARRIVES_S = 0.02
"""What was sent before a cut has arrived by then; what an RST destroys on its way is a fault of the network."""

GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"


@dataclass(frozen=True, slots=True)
class Victim:
    """An answer to be spoiled. `suffers` is told the id of the failure matrix when it is."""

    streamed: bool
    chance: Chance
    suffers: Callable[[str], None]


def cut(good: Steps, after: int, victim: Victim) -> Steps:
    """End the connection."""
    seen = yield from _part(good, after, victim)
    if seen is not None:
        yield Pause(ARRIVES_S)
    victim.suffers("FV3" if seen else "FV1")
    yield Cut(victim.chance.pick((How.FIN, How.RST)))


def stall(good: Steps, after: int, victim: Victim) -> Steps:
    """Fall silent."""
    seen = yield from _part(good, after, victim)
    victim.suffers("FV4" if seen else "FV2")
    yield Silence()


def error_in_200(good: Steps, after: int, victim: Victim, page: Page, end: Break) -> Steps:
    """Break off with an error object, after a head that promised an answer."""
    if not victim.streamed:
        good.close()
        victim.suffers("FV8")
        yield Head(length=len(page.body))
        yield Piece(page.body)
        return
    seen = yield from _part(good, after, victim, headless=False)
    victim.suffers("FV8" if end.shows else "FV3" if seen else "FV1")
    yield Piece(end.data)


def meaning_in_200(good: Steps, victim: Victim, page: Page) -> Steps:
    """Answer 200 with an error object and nothing else, as an event or as a body."""
    good.close()
    victim.suffers("FV8")
    if victim.streamed and victim.chance.happens(0.7):
        yield Head(200, SSE)
        yield Piece(b"data: %b\n\n" % page.body)
    else:
        yield Head(length=len(page.body))
        yield Piece(page.body)


def foreign_script(good: Steps) -> Steps:
    """Write each token in letters of two, three and four bytes."""
    held: Head | None = None
    for step in good:
        if type(step) is Head and (step.length or 0) > 0:
            held = step  # its length is that of the body, which is about to grow
        elif type(step) is Piece and step.says:
            says = step.says.translate(FOREIGN)
            data = _foreign(step.data, step.says)
            if held is not None:
                yield replace(held, length=len(data))
                held = None
            yield Piece(data, says)
        else:
            if held is not None:
                yield held
                held = None
            yield step


def _foreign(data: bytes, says: str) -> bytes:
    """Write the text in a piece, which is one string of it or one per token, in other letters."""
    whole = b'"%b"' % says.encode()
    spoken = [says] if whole in data else [f"{token} " for token in says.split()]
    for text in spoken:
        data = data.replace(b'"%b"' % text.encode(), b'"%b"' % text.translate(FOREIGN).encode())
    return data


def malformed(good: Steps, after: int, victim: Victim) -> Steps:
    """Go on with what is no event, no chunk or no HTTP."""
    seen = yield from _part(good, after, victim, headless=after == 0 and victim.chance.happens(0.3), halved=False)
    victim.suffers("FV9")
    if seen is None:
        yield Raw(NOT_HTTP)
        yield Cut()
    elif victim.chance.happens(0.3):
        yield Raw(BAD_CHUNK)
        yield Cut()
    else:
        yield Piece(victim.chance.pick(GARBAGE) + DONE if victim.streamed else victim.chance.pick(PAGES))


def silent(good: Steps, victim: Victim) -> Steps:
    """Take the request and never answer."""
    good.close()
    victim.suffers("FV2")
    yield Silence()


def endless(good: Steps, victim: Victim) -> Steps:
    """Send one event, or one string, that never ends."""
    good.close()
    victim.suffers("FV9")
    yield Head(200, SSE if victim.streamed else JSON)
    yield Piece(b'data: {"choices":[{"index":0,"delta":{"content":"'[0 if victim.streamed else 6 :])
    while True:
        yield Piece(ENDLESS_PIECE)
        yield Pause(ENDLESS_PAUSE_S)


def compressed(good: Steps, victim: Victim) -> Steps:
    """Use a coding that nobody asked for."""
    good.close()
    victim.suffers("FV9")
    yield Head(200, SSE if victim.streamed else JSON, (("Content-Encoding", "gzip"),))
    yield Piece(GZIP_HEAD)


def slow_drip(good: Steps, pause_s: float, victim: Victim) -> Steps:
    """Send each byte alone; a text counts as sent with the last one of its event."""
    victim.suffers("FV9")
    for step in good:
        if type(step) is not Piece:
            yield step
            continue
        spoken = _spoken_at(step)
        for at in range(len(step.data)):
            yield Piece(step.data[at : at + 1], spoken.get(at, ""))
            yield Pause(pause_s)


def _spoken_at(step: Piece) -> dict[int, str]:
    """Give which text has been said with which byte: one token per event where tokens were joined into a piece."""
    ends = [found.end() - 1 for found in re.finditer(rb"\n\n", step.data)] or [len(step.data) - 1]
    tokens = [f"{token} " for token in step.says.split(" ")[:-1]]
    return dict(zip(ends, tokens, strict=True)) if len(ends) == len(tokens) else {ends[0]: step.says}


def _part(
    good: Steps, after: int, victim: Victim, *, headless: bool | None = None, halved: bool = True
) -> Generator[Step, None, int | None]:
    """Let the part before a strike pass; gives how many visible pieces that were, None where not even the head.

    `headless`: whether the head is held back (drawn where nothing visible is to pass). `halved`: whether the first
    half of a whole answer passes.
    """
    if headless is None:
        headless = after == 0 and victim.chance.happens(0.5)
    seen: int | None = None
    passing = _visible(good, after) if victim.streamed else _first_half(good, halved=halved)
    for step in passing:
        if type(step) is Head:
            if headless:
                break
            seen = 0
        elif type(step) is Piece and step.says and seen is not None:
            seen += 1
        yield step
    passing.close()
    good.close()
    return seen


def _visible(good: Steps, after: int) -> Steps:
    """Give a stream up to so many visible pieces, and in no case its end."""
    seen = 0
    for step in good:
        if type(step) is Piece:
            if (step.says and seen == after) or (seen and not step.says):
                return
            seen += bool(step.says)
        yield step
        if after and seen == after:
            return


def _first_half(good: Steps, *, halved: bool) -> Steps:
    """Give a whole answer up to the middle of its body; its length stays open where something else may follow."""
    for step in good:
        if type(step) is Head and not halved:
            yield Head(step.status, step.content_type, step.headers)
        elif type(step) is Piece:
            if halved:
                yield Piece(step.data[: len(step.data) // 2])
            return
        else:
            yield step
