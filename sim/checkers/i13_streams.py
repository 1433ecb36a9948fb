"""I13: what a client gets is what one target said: in order, nothing lost, nothing doubled, with a true end.

The text of a client is the text of one answer of its call, or the beginning of it where the answer was cut or
ended with an error event; an end mark is only sent for an answer that was finished. Nothing comes after the end,
and nothing is garbled. An answer that was kept is that of a call which asked the same.
"""

from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.calls import Call, Exchange
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I13"
TITLE = "a stream is one target's text, in order, with a true end"

PARTING_CHARS = 12
"""How much is shown from where two texts part."""

SHOWN_CHARS = 40

COMPLETE = frozenset({"whole", "done"})


def check(journal: Journal) -> Iterator[Violation]:
    """Find answers that are not what a target said."""
    watch = watch_of(journal)
    for call in watch.calls.values():
        if call.ends:
            yield from _well_formed(call)
            yield from _names_its_model(watch, call)
            yield from _one_targets_text(watch, call)


def _well_formed(call: Call) -> Iterator[Violation]:
    members = call.ends[0].members
    for name, words in (("garbled", "is garbled"), ("after_end", "goes on after its end")):
        if members.get(name):
            what = f"what {call.gateway} sent {words}: {members[name]}"
            yield Violation(CODE, call.over_at, what, call.name)


def _names_its_model(watch: Watch, call: Call) -> Iterator[Violation]:
    """Find answers that name another model than was asked for: the vendor's own name is nobody's business.

    Suffixes of a name choose and are not repeated; a chain is answered by one of its models.
    """
    asked = str(call.sents[0].members["model"] or "") if call.sents else ""
    named = str(call.ends[0].members.get("models") or "")
    words = asked.split(":")
    meant = [":".join(words[:count]) for count in range(1, len(words) + 1)]
    meant += [name for chain in tuple(meant) for name in watch.text(f"chain:{chain}").split()]
    if asked and named not in ("", *meant):
        what = f"{call.gateway} named the model {named}, asked for {asked}"
        yield Violation(CODE, call.over_at, what, call.name)


def _one_targets_text(watch: Watch, call: Call) -> Iterator[Violation]:
    exchanges = watch.asked_for.get(call.name, [])
    if _given_again(watch, call):
        exchanges = watch.asked_the_same(call)
    complete = call.outcome in COMPLETE
    if call.outcome == "error" or not (call.text or complete):
        return
    if any(_is_source(call, exchange, complete=complete) for exchange in exchanges):
        return
    if any(exchange.told is None for exchange in exchanges):
        return  # what it has said by now nobody knows
    what = f"{call.outcome} with {_shown(call.text)}, but {_told(exchanges)}{_parting(call, exchanges)}"
    yield Violation(CODE, call.over_at, what, call.name)


def _given_again(watch: Watch, call: Call) -> bool:
    """Tell whether an answer is that of another call, which asked the same."""
    records = watch.records.get(call.request_id, ())[:1] if call.request_id else ()
    return any(record.members.get("cache") == "hit" or record.has("replayed") for record in records)


def _is_source(call: Call, exchange: Exchange, *, complete: bool) -> bool:
    if exchange.told is None:
        return False
    said = exchange.told.text("text")
    if not complete:
        return said.startswith(call.text)
    return said == call.text and exchange.says("finished")


def _parting(call: Call, exchanges: list[Exchange]) -> str:
    """Say where the client's text parts from that of the target which it follows longest."""
    texts = [one.told.text("text") for one in exchanges if one.told is not None]
    if not texts:
        return ""
    at, said = max((_alike(call.text, said), said) for said in texts)
    if call.text == said:
        return ""
    ours, theirs = call.text[at : at + PARTING_CHARS], said[at : at + PARTING_CHARS]
    return f"; they part at character {at}: {ours!r}, {theirs!r}"


def _alike(one: str, other: str) -> int:
    """Count the characters that two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, yours) in pairs if mine != yours), min(len(one), len(other)))


def _told(exchanges: list[Exchange]) -> str:
    if not exchanges:
        return "nobody was asked"
    return "; ".join(
        f"{one.target} said {_shown(one.told.text('text'))} ({one.how}"
        f"{', finished' if one.says('finished') else ''})"
        for one in exchanges
        if one.told is not None
    )


def _shown(text: str) -> str:
    if len(text) <= SHOWN_CHARS:
        return repr(text)
    return f"{text[: SHOWN_CHARS // 2]!r}…{text[-SHOWN_CHARS // 2 :]!r} ({len(text)} characters)"
