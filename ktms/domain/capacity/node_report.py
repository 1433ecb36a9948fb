"""What a look at one node found: the free probe of `GET /v1/models`, or a generated token.

Shapes only; what follows from it is `node_health.py`. An agent tells more than a bare engine: what is None is not
known, never zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ktms.domain.ids import NodeName, VendorModel


class Look(StrEnum):
    """How a look ended."""

    ANSWERED = "answered"  # alive, whatever it said: a 4xx too
    MISSED = "missed"  # no answer, or a 5xx
    LOADING = "loading"  # it says that it is loading its weights
    SPOKE = "spoke"  # it has generated a token


@dataclass(frozen=True, slots=True)
class ModelReport:
    """One model on a node. `window` in tokens per slot, `tokens_per_s` of one stream."""

    loaded: bool | None = None
    window: int | None = None
    tokens_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One look. `misses`: looks missed in a row, this one included; `busy`: calls in the engine, as it says.

    `models` by the engine's own names; empty where the look did not tell.
    """

    node: NodeName
    look: Look
    misses: int = 0
    draining: bool = False
    slots: int | None = None
    busy: int | None = None
    models: Mapping[VendorModel, ModelReport] = field(default_factory=dict)
