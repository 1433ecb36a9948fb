"""Which token follows which: the whole knowledge of the generated model, as a table of log-probabilities.

Words follow as often as they do in the corpus; after anything that is no word a sentence begins. The characters of
JSON get preferences that make tool calls and schema-bound answers short: strings hold one value, arrays one item.
"""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tests.e2e.engine import template
from tests.e2e.engine.corpus import SENTENCES_MEAN, VALUES, words
from tests.e2e.engine.vocabulary import Vocabulary, closed

Table = npt.NDArray[np.float64]

FLOOR = 1e-9
"""Weight of what the model never says by itself; a grammar may still force it."""

NEVER_LOG = -99.0
"""Log-weight that even the wish for a tool call does not overcome."""


def log_table(vocabulary: Vocabulary) -> Table:
    """Give log P[next, previous]."""
    weights = np.full((len(vocabulary.tokens),) * 2, FLOOR)
    _speech(weights, vocabulary)
    _json(weights, vocabulary)
    logs: Table = np.log(weights / weights.sum(axis=0, keepdims=True))
    no_second_call = [*_closings(vocabulary), vocabulary.byte("}"), vocabulary.byte("\n")]
    logs[vocabulary.text(template.CALL_OPEN), no_second_call] = NEVER_LOG
    return logs


def _follow(weights: Table, previous: int, followers: Mapping[int, float]) -> None:
    """Let only these tokens follow."""
    weights[:, previous] = FLOOR
    for follower, weight in followers.items():
        weights[follower, previous] = weight


def _closings(vocabulary: Vocabulary) -> tuple[int, int]:
    """Give the two tokens that can end a call: with its line end, and the bare mark."""
    return vocabulary.text(template.CALL_CLOSE), vocabulary.ids[template.CALL_MARKS[1]]


def _beginnings(vocabulary: Vocabulary) -> dict[int, float]:
    """Give the share of each word among the first words of sentences."""
    sequence = [".", *words()]
    firsts = [vocabulary.words[word] for before, word in pairwise(sequence) if before == "."]
    return {first: firsts.count(first) / len(firsts) for first in firsts}


def _speech(weights: Table, vocabulary: Vocabulary) -> None:
    beginnings = _beginnings(vocabulary)
    spoken = vocabulary.words
    for token in set(range(len(vocabulary.tokens))) - set(spoken.values()):
        _follow(weights, token, beginnings)
    for before, word in pairwise(words()):
        weights[spoken[word], spoken[before]] += 1
    going_on = 1 - 1 / SENTENCES_MEAN
    after_stop = {first: share * going_on for first, share in beginnings.items()}
    after_stop[vocabulary.ids[template.TURN_END]] = 1 / SENTENCES_MEAN
    _follow(weights, spoken["."], after_stop)
    # the likeliest way through must end, or an answer at temperature 0 would go round in a circle
    weights[spoken["truth"], spoken["the"]] = weights[:, spoken["the"]].max() + 0.5


def _json(weights: Table, vocabulary: Vocabulary) -> None:
    byte = vocabulary.byte
    quote, end = byte('"'), vocabulary.ids[template.TURN_END]
    opening, closings = vocabulary.text(template.CALL_OPEN), _closings(vocabulary)
    values = [vocabulary.text(closed(value)) for value in VALUES]
    # the colon comes only where a value is not allowed: after a key
    _follow(weights, quote, {**dict.fromkeys(values, 1.0), byte(":"): 1e-3})
    for value in values:
        _follow(weights, value, {byte("}"): 0.5, byte(","): 0.3, byte("]"): 0.3})
    for digit in "0123456789":
        _follow(weights, byte(digit), {byte("}"): 0.5, byte(","): 0.3, byte("]"): 0.3})
    scalars = {byte(first): 0.1 for first in "123456789t"}
    for before in ":[":
        _follow(weights, byte(before), {quote: 1.0, **scalars})
    _follow(weights, byte("{"), {**_beginnings(vocabulary), quote: 50.0})
    _follow(weights, byte("}"), {byte("}"): 1.0, closings[0]: 3.0, byte(","): 0.01, end: 1.0})
    for closing in closings:
        _follow(weights, closing, {end: 1.0})
    weights[quote, opening] = FLOOR
    # a second member only where a schema asks for it
    weights[quote, byte(",")] = 1e-4 * weights[:, byte(",")].sum()
