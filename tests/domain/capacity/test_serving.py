"""Which machine serves which model."""

import pytest

from ktms.domain.capacity.serving import name_on, window_on, with_tag
from ktms.domain.catalogue import EngineKind
from ktms.domain.ids import NodeName, VendorModel
from ktms.domain.snapshot import Node, Origin, Reach


def node(windows: dict[str, int | None]) -> Node:
    return Node(
        NodeName("mac-1"),
        Origin("http", "10.0.0.7", 8790, "", Reach.NODE),
        EngineKind.OLLAMA,
        None,
        None,
        4,
        4,
        {VendorModel(name): window for name, window in windows.items()},
        None,
    )


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("qwen3", "qwen3:latest"),
        ("qwen3:4b", "qwen3:4b"),
        ("host:5000/qwen3", "host:5000/qwen3:latest"),
        ("host:5000/qwen3:4b", "host:5000/qwen3:4b"),
    ],
)
def test_the_default_tag_is_spelled_out(name: str, spelled: str) -> None:
    assert with_tag(name) == spelled


@pytest.mark.parametrize(
    ("served", "wanted", "found"),
    [
        ("qwen3:4b", "qwen3:4b", "qwen3:4b"),
        ("qwen3:latest", "qwen3", "qwen3:latest"),
        ("qwen3", "qwen3:latest", "qwen3"),
        ("qwen3:4b", "qwen3", None),
        ("qwen3:4b", "Qwen3:4b", None),
    ],
)
def test_names_match_exactly_but_for_the_default_tag(served: str, wanted: str, found: str | None) -> None:
    assert name_on(node({served: 8192}), VendorModel(wanted)) == found


def test_a_window_is_found_under_either_spelling() -> None:
    assert window_on(node({"qwen3:latest": 8192}), VendorModel("qwen3")) == 8192


def test_a_window_may_be_unknown() -> None:
    assert window_on(node({"qwen3": None}), VendorModel("qwen3")) is None
    assert window_on(node({"qwen3": 8192}), VendorModel("other")) is None
