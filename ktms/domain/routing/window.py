"""How much a model can take in: tokens of prompt and answer together, where that is known.

The smaller one of what the model promises and what a place offers holds; None is unknown and never excludes
anything.
"""

from ktms.domain.capacity.serving import window_on
from ktms.domain.ids import VendorModel
from ktms.domain.snapshot import LocalTarget, Model, Node

BYTES_PER_TOKEN_MIN = 8
"""No text has more bytes per token on average: what is too long even so is too long for certain."""


def node_window(model: Model, node: Node, vendor_model: VendorModel) -> int | None:
    """Window of a model on one node."""
    return _smaller(model.context_window, window_on(node, vendor_model))


def local_window(model: Model, target: LocalTarget) -> int | None:
    """Largest window any node of the target offers; None as soon as one of them is not known."""
    windows = {node_window(model, node, target.vendor_model) for node in target.nodes}
    return None if None in windows else max(window for window in windows if window is not None)


def shown_window(models: tuple[Model, ...]) -> int | None:
    """The largest known window among models, for listings; None when none is known."""
    known = [window for model in models if (window := _known(model)) is not None]
    return max(known, default=None)


def _known(model: Model) -> int | None:
    if model.context_window is not None:
        return model.context_window
    offered = (window_on(node, target.vendor_model) for target in model.local for node in target.nodes)
    return max((window for window in offered if window is not None), default=None)


def _smaller(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)
