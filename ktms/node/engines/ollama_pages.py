"""What Ollama's pages say: what it has (`/api/tags`), what is in memory (`/api/ps`), one model (`/api/show`).

Pure. A stub that sends requests to a cloud is no model of this machine; what cannot chat is none for chats (N16).
Not here: what follows (`ollama.py`), the window of a model that is not in memory (`ollama_window.py`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ktms.domain.announcement import MODELS_MAX
from ktms.domain.capacity.serving import same_model
from ktms.node.engines.told import entries, members, name, window, words
from ktms.node.filter.own_models import is_cloud

ONE_AT_A_TIME = frozenset(
    {
        "mllama",
        "qwen3vl",
        "qwen3vlmoe",
        "qwen35",
        "qwen35moe",
        "qwen3next",
        "lfm2",
        "lfm2moe",
        "nemotron_h",
        "nemotron_h_moe",
        "nemotron_h_omni",
    }
)
"""Families that Ollama never serves in parallel, whatever it was told."""

MLX_FORMAT = "safetensors"
"""Weights in this form run in a runner of their own: one call at a time, and always wholly on the GPU."""

_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
_BLOB = re.compile(r"^FROM\s.*sha256[-:]([0-9a-f]{64})\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tag:
    """A model on the disk. `trained`: the window it was trained for, which is not what a call gets."""

    name: str
    digest: str
    family: str = ""
    is_mlx: bool = False
    able: tuple[str, ...] | None = None
    trained: int | None = None

    @property
    def is_alone(self) -> bool:
        """Whether it serves one call at a time for what it is."""
        return self.is_mlx or self.family in ONE_AT_A_TIME


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that has a place in memory: it may still be on its way there. `on_gpu`: the share, 0 to 1."""

    name: str
    digest: str
    expires_at: str
    window: int | None = None
    on_gpu: float | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """One model in detail. `num_ctx`: of its Modelfile; `blob`: SHA-256 of its weights."""

    num_ctx: int | None = None
    trained: int | None = None
    able: tuple[str, ...] | None = None
    blob: str | None = None


def read_tags(page: object) -> tuple[Tag, ...]:
    """Read `/api/tags`."""
    return tuple(_tags(page))[:MODELS_MAX]


def read_ps(page: object) -> tuple[Loaded, ...]:
    """Read `/api/ps`."""
    return tuple(_loaded(page))[:MODELS_MAX]


def read_show(page: object) -> Shown:
    """Read `/api/show`."""
    told = members(page)
    info = members(told.get("model_info"))
    architecture = info.get("general.architecture")
    num_ctx = _NUM_CTX.search(_text(told, "parameters"))
    blob = _BLOB.search(_text(told, "modelfile"))
    return Shown(
        num_ctx=window(int(num_ctx[1])) if num_ctx else None,
        trained=window(info.get(f"{architecture}.context_length")),
        able=words(told.get("capabilities")),
        blob=blob[1] if blob else None,
    )


def chats(able: tuple[str, ...] | None) -> bool:
    """Whether a model generates text; an old Ollama that does not tell is taken at its word when asked."""
    return not able or "completion" in able


def loaded_as(tag: Tag, loaded: tuple[Loaded, ...]) -> Loaded | None:
    """Find a model in memory; one digest under two names is one model."""
    for one in loaded:
        if same_model(tag.name, one.name) or (tag.digest and tag.digest == one.digest):
            return one
    return None


def _tags(page: object) -> Iterator[Tag]:
    for entry in entries(page, "models"):
        found, details = name(entry.get("name")), members(entry.get("details"))
        if found is None or entry.get("remote_host") or entry.get("remote_model") or is_cloud(found):
            continue
        yield Tag(
            found,
            _text(entry, "digest"),
            family=_text(details, "family"),
            is_mlx=details.get("format") == MLX_FORMAT,
            able=words(entry.get("capabilities")),
            trained=window(details.get("context_length")),
        )


def _loaded(page: object) -> Iterator[Loaded]:
    for entry in entries(page, "models"):
        found = name(entry.get("name"))
        if found is not None:
            yield Loaded(
                found,
                _text(entry, "digest"),
                _text(entry, "expires_at"),
                window=window(entry.get("context_length")),
                on_gpu=_share(entry.get("size_vram"), entry.get("size")),
            )


def _share(on_gpu: object, size: object) -> float | None:
    if not isinstance(on_gpu, int) or not isinstance(size, int) or not 0 < size < 1 << 60 or on_gpu < 0:
        return None
    return min(on_gpu / size, 1.0)


def _text(entry: dict[str, object], member: str) -> str:
    value = entry.get(member)
    return value if isinstance(value, str) else ""
