"""Which engine a node gets: one that answers, one that is here and does not run, or an Ollama of its own.

Pure. Rules: what runs is adopted and never replaced; only Ollama is ever started or installed. Not here: looking
(`engines_here.py`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

from ktms.domain.catalogue import EngineKind
from ktms.node.install.engines_here import HOST, EngineHere
from ktms.node.install.refused import Refusal

OLLAMA_PORT = 11434
PORTS_TRIED = 10
"""Where another program has Ollama's own port, the next ones are looked at."""

STARTS = {
    EngineKind.VLLM: "vllm serve MODEL",
    EngineKind.LLAMACPP: "llama-server -m FILE --port 8080",
    EngineKind.TGI: "text-generation-launcher --model-id MODEL --port 8080",
}


class How(Enum):
    """What has to be done for an engine."""

    ADOPT = "it runs"
    START = "it is here and does not run"
    INSTALL = "it is not here"
    TRUST = "it does not answer now"


@dataclass(frozen=True, slots=True)
class Choice:
    """One engine. `program`: of one that is started; `models`: what it lists; `others`: what runs as well."""

    kind: EngineKind
    url: str
    how: How
    program: str | None = None
    models: tuple[str, ...] = ()
    version: str | None = None
    others: tuple[EngineHere, ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for or was so before; `kept_url` is where the node's engine was until now."""

    kind: EngineKind | None = None
    url: str | None = None
    kept_url: str | None = None
    models: tuple[str, ...] = ()


def choose(
    wish: Wish, running: Sequence[EngineHere], ollama: str | None, *, is_ours: bool, taken: Collection[int]
) -> Choice | Refusal:
    """Choose; `ollama` is a program that is here, `is_ours`: this node has started its own before."""
    fitting = [one for one in running if wish.kind in {None, one.kind}]
    if wish.url is not None:
        return _named(wish, running)
    if fitting:
        best = max(fitting, key=lambda one: _fitness(one, wish))
        how = How.START if is_ours and best.kind is EngineKind.OLLAMA and best.url == wish.kept_url else How.ADOPT
        others = tuple(one for one in fitting if one is not best)
        return Choice(best.kind, best.url, how, ollama, best.models, best.version, others)
    if wish.kind not in {None, EngineKind.OLLAMA}:
        assert wish.kind is not None, "None is in the set"
        remedy = f"start it ({STARTS[wish.kind]}), or name where it answers with --engine-url"
        return Refusal(f"no {wish.kind.value} answers on this machine", remedy)
    ports = range(OLLAMA_PORT, OLLAMA_PORT + PORTS_TRIED)
    free = next((port for port in ports if port not in taken), OLLAMA_PORT)
    url = f"http://{HOST}:{free}"
    return Choice(EngineKind.OLLAMA, url, How.INSTALL if ollama is None else How.START, ollama)


def _named(wish: Wish, running: Sequence[EngineHere]) -> Choice | Refusal:
    assert wish.url is not None, "asked only where there is one"
    there = next((one for one in running if one.url == wish.url), None)
    if there is not None and wish.kind in {None, there.kind}:
        return Choice(there.kind, there.url, How.ADOPT, None, there.models, there.version)
    if there is not None:
        assert wish.kind is not None, "None fits all"
        what = f"{wish.url} answers as {there.kind.value}, not as {wish.kind.value}"
        return Refusal(what, f"leave out --engine, or say --engine {there.kind.value}")
    if wish.kind is None:
        return Refusal(
            f"no engine that is known answers at {wish.url}", "start it, or say which it is with --engine"
        )
    return Choice(wish.kind, wish.url, How.TRUST)


def _fitness(one: EngineHere, wish: Wish) -> tuple[bool, bool, bool]:
    has_all = bool(wish.models) and all(has_model(one.kind, one.models, model) for model in wish.models)
    return (has_all, one.url == wish.kept_url, urlsplit(one.url).port == OLLAMA_PORT)


def has_model(kind: EngineKind, listed: Sequence[str], model: str) -> bool:
    """Whether an engine lists a model; Ollama takes a name without a tag for `:latest`, and ignores case."""
    if kind is not EngineKind.OLLAMA:
        return model in listed
    return ollama_name(model) in map(ollama_name, listed)


def ollama_name(model: str) -> str:
    """Give the name under which Ollama has a model."""
    name = model if ":" in model.rpartition("/")[2] else f"{model}:latest"
    return name.lower()
