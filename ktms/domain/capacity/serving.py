"""Which of our machines serves which model, and with how large a window.

Names are the engine's own, compared exactly, but for one thing: `x` and `x:latest` are the same (Ollama's default
tag, which its listings spell out and its users leave out).
"""

from ktms.domain.ids import VendorModel
from ktms.domain.snapshot import Node

DEFAULT_TAG = ":latest"


def with_tag(name: str) -> str:
    """Spell out the default tag; a colon before the last slash is part of a host, not a tag."""
    return name if ":" in name.rpartition("/")[2] else name + DEFAULT_TAG


def name_on(node: Node, vendor_model: VendorModel) -> VendorModel | None:
    """Give the node's own spelling of a model; None when the node does not serve it."""
    if vendor_model in node.windows:
        return vendor_model
    wanted = with_tag(vendor_model)
    return next((name for name in node.windows if with_tag(name) == wanted), None)


def window_on(node: Node, vendor_model: VendorModel) -> int | None:
    """Tokens per slot of a model on a node; None when unknown."""
    name = name_on(node, vendor_model)
    return None if name is None else node.windows[name]
