"""Which of our machines serves which model, and with how large a window.

Names are the engine's own, compared exactly, but for one thing: `x` and `x:latest` are the same (Ollama's default
tag, which its listings spell out and its users leave out). Only what an answer tells is compared more generously.
"""

from collections.abc import Collection, Iterable

from ktms.domain.ids import VendorModel
from ktms.domain.snapshot import Node

DEFAULT_TAG = ":latest"
DEFAULT_HOST = "registry.ollama.ai/"
DEFAULT_NAMESPACE = "library/"
FILE_ENDING = ".gguf"


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


def same_model(asked: str, told: str) -> bool:
    """Whether the name in an answer stands for the model that was asked for (N27).

    As Ollama compares names: host, namespace and tag have defaults, and case says nothing. Other engines give
    names back as they are, and none serves two that differ only in these.
    """
    return asked == told or _in_full(asked) == _in_full(told)


def _in_full(name: str) -> str:
    return with_tag(name.casefold()).removeprefix(DEFAULT_HOST).removeprefix(DEFAULT_NAMESPACE)


def is_other_model(told: str, expected: Collection[VendorModel]) -> bool:
    """Whether an answer names none of the models that were expected; where none is, anything may answer."""
    return bool(expected) and not any(same_model(name, told) for name in expected)


def unlisted(node: Node, told: Iterable[str]) -> list[VendorModel]:
    """Give the models of a node that its engine does not list; a file stands for the model named after it."""
    listed = {_of_file(name) for name in told}
    return [name for name in node.windows if _of_file(name) not in listed]


def _of_file(name: str) -> str:
    file = name.replace("\\", "/").rpartition("/")[2]
    return _in_full(file.removesuffix(FILE_ENDING))
