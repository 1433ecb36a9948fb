"""What a look at one node found: the free probe of `GET /v1/models`, or a generated token.

Shapes, and which readings are news; what follows from it is `node_health.py`. An agent tells more than a bare
engine: what is None is not known, never zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ktms.domain.capacity.engine_metrics import EngineLoad
from ktms.domain.ids import NodeName, VendorModel


class Look(StrEnum):
    """How a look ended."""

    ANSWERED = "answered"  # alive, whatever it said: a 4xx too
    MISSED = "missed"  # no answer, or a 5xx
    LOADING = "loading"  # it says that it is loading its weights
    SPOKE = "spoke"  # it has generated a token
    BARS = "bars"  # it was asked for a token, and refuses ours


@dataclass(frozen=True, slots=True)
class ModelReport:
    """One model on a node. `window` in tokens per slot, `tokens_per_s` of one stream."""

    loaded: bool | None = None
    window: int | None = None
    tokens_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One look. `misses`: looks missed in a row, this one included; `busy`: calls in the engine, as an agent says.

    `models` by the engine's own names; empty where the look did not tell. `load` is what the metrics of a bare
    engine say; they trail by seconds, so they never show that an engine is idle, as `busy` does.
    """

    node: NodeName
    look: Look
    misses: int = 0
    draining: bool = False
    slots: int | None = None
    busy: int | None = None
    models: Mapping[VendorModel, ModelReport] = field(default_factory=dict)
    load: EngineLoad | None = None


SAME_LOOK_S = 0.5
"""Two readings of one report differ in age by the way to the store and back; looks are seconds apart."""


def is_known(report: NodeReport, at: float, taken_at: float, taken: NodeReport) -> bool:
    """Whether this is a reading of what was taken last, or of something older.

    Another report is news however soon it comes: whoever takes over the duty may look just after another.
    """
    later_s = at - taken_at
    return later_s <= SAME_LOOK_S and (later_s < -SAME_LOOK_S or taken == report)
