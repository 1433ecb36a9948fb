"""From names to entries."""

import pytest

from ktms.domain.call import NO_CHOICES, Choices
from ktms.domain.catalogue import Catalogue, ChainSpec, ModelSpec, TargetSpec
from ktms.domain.placement import Placement
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.routing.names import resolve

LOCAL = (TargetSpec("local", "qwen3:4b"),)

SNAPSHOT = compile_snapshot(
    Catalogue(
        models=(
            ModelSpec("qwen3", LOCAL),
            ModelSpec("qwen3:4b", LOCAL, aliases=("default", "org/legacy:v1")),
            ModelSpec("pinned:medium", LOCAL),
        ),
        chains=(ChainSpec("auto", {"medium": ("qwen3",), "high": ("qwen3:4b",)}, "medium"),),
    ),
    version=1,
)


@pytest.mark.parametrize(
    ("requested", "name", "suffix"),
    [
        ("qwen3", "qwen3", NO_CHOICES),
        ("qwen3:4b", "qwen3:4b", NO_CHOICES),
        ("default", "qwen3:4b", NO_CHOICES),
        ("org/legacy:v1", "qwen3:4b", NO_CHOICES),
        ("auto", "auto", NO_CHOICES),
        ("auto:high", "auto", Choices(tier="high")),
        ("auto:nodes-only:high", "auto", Choices(Placement.NODES_ONLY, "high")),
        ("auto:high:nodes-only", "auto", Choices(Placement.NODES_ONLY, "high")),
        ("qwen3:4b:nodes-only", "qwen3:4b", Choices(Placement.NODES_ONLY)),
        ("default:cloud-only", "qwen3:4b", Choices(Placement.CLOUD_ONLY)),
        ("qwen3:high", "qwen3", Choices(tier="high")),
        ("pinned:medium", "pinned:medium", NO_CHOICES),  # exact comes first
        ("pinned:medium:high", "pinned:medium", Choices(tier="high")),
    ],
)
def test_a_name_means_the_longest_exact_entry(requested: str, name: str, suffix: Choices) -> None:
    found = resolve(SNAPSHOT, requested)

    assert found is not None
    assert (found.entry.name, found.suffix) == (name, suffix)


@pytest.mark.parametrize(
    "requested",
    [
        "",
        ":",
        ":high",
        "qwen4",
        "QWEN3",
        "qwen3:8b",
        "qwen3:8b:high",
        "auto:ultra",
        "auto:high:medium",
        "auto:nodes-only:cloud-only",
        "auto:nodes-only:high:nodes-first",
        "auto: high",
        "auto::high",
        "pinned",
        "x" * 100_000,
        ":high" * 10_000,
    ],
)
def test_an_unknown_name_is_never_another_model(requested: str) -> None:
    assert resolve(SNAPSHOT, requested) is None
