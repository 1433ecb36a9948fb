"""I10: no key and no prompt stands in a log, a record, a usage event, a metric, or in what another client is told.

A `secret` is looked for in all texts that leave a gateway for its operators, and in the error texts that clients
get: there no key may stand at all, and no prompt but the client's own.
"""

from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.fact import Fact
from sim.journal.journal import Journal

CODE = "I10"
TITLE = "no secret in logs, records, metrics and errors"

TOLD_TO_OPERATORS = ("log", "record", "usage", "gauge", "dependency_failed", "readyz")

ERROR_TEXTS = ("code", "message", "garbled", "attempts")
"""Members of `call_ended` that hold words of an error; its `text` is an answer, which may repeat its prompt."""

SHORTEST_CHARS = 6
"""A shorter secret would be found in innocent words."""


def check(journal: Journal) -> Iterator[Violation]:
    """Find secrets where they must not be."""
    secrets = {
        fact.text("value"): fact for fact in journal.of("secret") if len(fact.text("value")) >= SHORTEST_CHARS
    }
    if not secrets:
        return
    operators = [(fact, _texts(fact)) for fact in journal.of(*TOLD_TO_OPERATORS)]
    clients = [(fact, _error_texts(fact)) for fact in journal.of("call_ended")]
    # One search through everything is cheap; only where it finds something is it worth knowing where.
    all_told = "\n".join(dict.fromkeys(text for _, texts in (*operators, *clients) for text in texts))
    for value, secret in secrets.items():
        if value not in all_told:
            continue
        for fact, texts in operators:
            if any(value in text for text in texts):
                what = f"a secret ({secret.members['what']}) stands in a {fact.kind} of {fact.host}"
                yield Violation(CODE, fact.at, what)
        yield from _told_to_clients(value, secret, clients)


def _told_to_clients(value: str, secret: Fact, clients: list[tuple[Fact, list[str]]]) -> Iterator[Violation]:
    is_prompt = secret.members["what"] == "prompt"
    for fact, texts in clients:
        own = is_prompt and secret.members.get("call") in (None, fact.members["call"])
        if not own and any(value in text for text in texts):
            what = f"a secret ({secret.members['what']}) stands in the error that a client got"
            yield Violation(CODE, fact.at, what, fact.text("call"))


def _texts(fact: Fact) -> list[str]:
    return [value for value in fact.members.values() if isinstance(value, str)]


def _error_texts(fact: Fact) -> list[str]:
    found = (fact.members.get(name) for name in ERROR_TEXTS)
    return [value for value in found if isinstance(value, str) and value]
