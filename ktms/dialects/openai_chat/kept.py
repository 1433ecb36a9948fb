"""An answer as it is kept: one line of facts, then the bytes that its client was given.

Replicas of two releases share what is kept: members that one does not know are ignored, another form or anything
that cannot be read is no answer. Not here: where it is kept, for whom and how long (engine).
"""

from dataclasses import dataclass

import msgspec

from ktms.dialects.json import as_json
from ktms.domain.conversation.usage import Usage

FORM = 1
"""Counted up when an older reader would misunderstand what is written."""

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """`body` is a JSON answer, or the events of a stream without their end mark.

    `model` is the public name of the model that answered, `headers` what was said of the answer then.
    """

    model: str
    streamed: bool
    usage: Usage
    body: bytes
    headers: Headers = ()


class _Facts(msgspec.Struct):
    form: int
    model: str
    streamed: bool
    usage: Usage
    headers: Headers


_facts = msgspec.json.Decoder(_Facts).decode


def write_kept(answer: KeptAnswer) -> bytes:
    """Write an answer as it is kept."""
    facts = _Facts(FORM, answer.model, answer.streamed, answer.usage, answer.headers)
    return b"%b\n%b" % (as_json(facts), answer.body)


def read_kept(raw: bytes) -> KeptAnswer | None:
    """Read what was kept; None where it is of another form."""
    line, _, body = raw.partition(b"\n")
    try:
        facts = _facts(line)
    except msgspec.DecodeError:
        return None
    if facts.form != FORM:
        return None
    return KeptAnswer(facts.model, facts.streamed, facts.usage, body, facts.headers)
