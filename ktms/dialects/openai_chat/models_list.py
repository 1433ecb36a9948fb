"""What a node says about its models in answer to `GET /v1/models`.

Rules: nothing raises for what a peer sent; what is missing, of another type or out of a sane range is not known,
never zero; of endless lists the first thousand count. An agent says all (`ktms` beside each model), vLLM its
window, llama.cpp its window and state, others their names. Windows are given as told; where slots may share one,
`usable_window` says what is left. Not here: which engines do so (vendors), what follows for a node (domain).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ktms.dialects.json import BadJson, parsed
from ktms.domain.capacity.node_report import ModelReport
from ktms.domain.ids import VendorModel

MAX_MODELS = 1_000
"""More than any machine has; a list without end must not fill the memory of whoever reads it."""

MAX_ID_CHARS = 256
MAX_WORD_CHARS = 64
MAX_WINDOW_TOKENS = 100_000_000
MAX_SLOTS = 100_000
MAX_TOKENS_PER_S = 1_000_000.0
"""Sane ranges: what lies beyond is a mistake, and would be somebody's weight."""


@dataclass(frozen=True, slots=True)
class ModelsList:
    """One answer. `slots` and `busy` are those of the whole engine, which an agent says with each model.

    `on_gpu` is False as soon as one model of which that is told is not wholly there.
    """

    models: Mapping[VendorModel, ModelReport] = field(default_factory=dict)
    slots: int | None = None
    busy: int | None = None
    engine: str | None = None
    engine_version: str | None = None
    on_gpu: bool | None = None

    @property
    def ids(self) -> tuple[VendorModel, ...]:
        """The models' names, in the order told."""
        return tuple(self.models)


def read_models(body: bytes) -> ModelsList | None:
    """Read an answer with status 200; None where it is no list of models."""
    try:
        document = parsed(body)
    except BadJson:
        return None
    if not isinstance(document, dict):
        return None
    entries = document.get("data")
    if entries is None and "data" in document:  # Ollama without a model
        return ModelsList()
    if not isinstance(entries, list):
        return None
    models: dict[VendorModel, ModelReport] = {}
    facts: list[dict[str, object]] = []
    for entry in map(_object, entries[:MAX_MODELS]):
        name = _text(entry.get("id"), MAX_ID_CHARS)
        if name is not None:
            models.setdefault(VendorModel(name), _model(entry))
            facts.append(_object(entry.get("ktms")))
    return ModelsList(
        models,
        _greatest(_count(one.get("slots"), 1, MAX_SLOTS) for one in facts),
        _greatest(_count(one.get("busy"), 0, MAX_SLOTS) for one in facts),
        _first(_text(one.get("engine"), MAX_WORD_CHARS) for one in facts),
        _first(_text(one.get("engine_version"), MAX_WORD_CHARS) for one in facts),
        _all_on_gpu(facts),
    )


def usable_window(n_ctx: int | None, slots: int) -> int | None:
    """Tokens that one slot may surely use where all slots may share the window that an engine tells for each.

    Four slots of llama.cpp that each tell 1,024 have 256 until the opposite is proven (N20).
    """
    return None if n_ctx is None else max(1, n_ctx // max(1, slots))


def _model(entry: dict[str, object]) -> ModelReport:
    told = _object(entry.get("ktms"))
    if told:
        loaded = told.get("loaded")
        return ModelReport(
            loaded if isinstance(loaded, bool) else None,
            _count(told.get("context_window"), 1, MAX_WINDOW_TOKENS),
            _speed(told.get("tokens_per_second")),
        )
    window = entry.get("max_model_len")  # vLLM
    if window is None:
        window = _object(entry.get("meta")).get("n_ctx")  # llama.cpp; its n_ctx_train is nothing a request gets
    return ModelReport(_loaded(entry), _count(window, 1, MAX_WINDOW_TOKENS))


def _loaded(entry: dict[str, object]) -> bool | None:
    """Read llama.cpp's state: a router's `status`, or `meta` that is null while the weights are being loaded."""
    status = entry.get("status")
    word = _object(status).get("value", status)
    if isinstance(word, str) and word:
        return word == "loaded"  # unloaded, loading, sleeping, failed, downloading: none of them answers at once
    if entry.get("owned_by") == "llamacpp" and "meta" in entry:
        return isinstance(entry["meta"], dict)
    return None


def _all_on_gpu(facts: list[dict[str, object]]) -> bool | None:
    told = [one["on_gpu"] for one in facts if isinstance(one.get("on_gpu"), bool)]
    return all(told) if told else None


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object, max_chars: int) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= max_chars and value.isprintable() else None


def _count(value: object, least: int, most: int) -> int | None:
    return value if type(value) is int and least <= value <= most else None  # a bool is an int for isinstance


def _speed(value: object) -> float | None:
    if type(value) not in (int, float):
        return None
    assert isinstance(value, int | float)
    return float(value) if 0 < value <= MAX_TOKENS_PER_S else None


def _greatest(counts: Iterable[int | None]) -> int | None:
    return max((count for count in counts if count is not None), default=None)


def _first(texts: Iterable[str | None]) -> str | None:
    return next((text for text in texts if text is not None), None)
