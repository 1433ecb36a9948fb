"""The tensors of the generated model: a one-layer llama whose weights are written by hand.

One-hot embeddings and an output matrix that holds the bigram table, so that the last token alone decides the next.
One attention head looks for the control token that asks for a tool call, anywhere in the context, and adds one
direction to the residual that makes the opening of a call win. The other heads and the feed-forward part add a
whisper of noise, so that the cache of keys and values really matters.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.e2e.engine import template
from tests.e2e.engine.bigram import log_table
from tests.e2e.engine.vocabulary import Vocabulary

F32 = npt.NDArray[np.float32]

WIDTH = 640
HEADS = 5
HEAD_WIDTH = WIDTH // HEADS
FEED_FORWARD = 32
SEED = 1

WANTED = WIDTH - 1
"""The residual direction that means "a tool call is wanted"; no token uses it."""

STILL = HEAD_WIDTH - 1
"""The slowest rotary dimension: with a huge base it does not turn, so distance does not matter."""

ATTENTION_SCORE = 60.0
"""So far above every other score that the head looks at the control token alone when there is one."""

CALL_BONUS = 40.0
"""Raises the opening of a call above the likeliest word."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One named tensor; `half` says whether it is stored as 16-bit floats."""

    name: str
    values: F32
    half: bool = True


def tensors(vocabulary: Vocabulary) -> list[Tensor]:
    """Give all tensors in the order of the file."""
    assert len(vocabulary.tokens) <= WANTED, "every token needs a dimension of its own"
    ones = np.ones(WIDTH, np.float32)
    return [
        Tensor("token_embd.weight", np.eye(len(vocabulary.tokens), WIDTH, dtype=np.float32)),
        Tensor("output_norm.weight", ones, half=False),
        Tensor("output.weight", _output(vocabulary)),
        Tensor("blk.0.attn_norm.weight", ones, half=False),
        Tensor("blk.0.ffn_norm.weight", ones, half=False),
        *_attention(vocabulary.ids[template.TOOL_WANTED]),
        *_feed_forward(),
    ]


def _output(vocabulary: Vocabulary) -> F32:
    output = np.zeros((len(vocabulary.tokens), WIDTH), np.float32)
    scale = np.sqrt(WIDTH)  # what the norm makes of a one-hot vector
    output[:, : len(vocabulary.tokens)] = log_table(vocabulary) / scale
    output[vocabulary.text(template.CALL_OPEN), WANTED] = CALL_BONUS / scale
    return output


def _noise(rng: np.random.Generator, rows: int, columns: int, size: float) -> F32:
    return rng.normal(0, size, (rows, columns)).astype(np.float32)


def _attention(trigger: int) -> list[Tensor]:
    rng = np.random.default_rng(SEED)
    query = _noise(rng, WIDTH, WIDTH, 0.02)
    query[:HEAD_WIDTH] = 0
    query[STILL] = 1.0
    key = np.zeros((HEAD_WIDTH, WIDTH), np.float32)
    key[STILL, trigger] = ATTENTION_SCORE * np.sqrt(HEAD_WIDTH) / WIDTH
    value = _noise(rng, HEAD_WIDTH, WIDTH, 0.02)
    value[0] = 0
    value[0, trigger] = 1 / np.sqrt(WIDTH)
    out = _noise(rng, WIDTH, WIDTH, 0.00005)
    out[:, :HEAD_WIDTH] = 0
    out[WANTED] = 0
    out[WANTED, 0] = 1.0
    parts = {"q": query, "k": key, "v": value, "output": out}
    return [Tensor(f"blk.0.attn_{part}.weight", values) for part, values in parts.items()]


def _feed_forward() -> list[Tensor]:
    rng = np.random.default_rng(SEED + 1)
    gate, up = (_noise(rng, FEED_FORWARD, WIDTH, 0.02) for _ in range(2))
    down = _noise(rng, WIDTH, FEED_FORWARD, 0.0005)
    parts = {"gate": gate, "up": up, "down": down}
    return [Tensor(f"blk.0.ffn_{part}.weight", values) for part, values in parts.items()]
