"""Windows and slots that are smaller than somebody promised, and what decided about them.

Pure. A promise is what an owner set: in the settings of the node, in the environment of this shell or of the
engine, in a Modelfile. What is decided by default is told only where it is too small for most calls.
"""

from collections.abc import Iterator

from ktms.domain.catalogue import EngineKind
from ktms.node.doctor.cause import Id
from ktms.node.doctor.engine_rules import title_of
from ktms.node.doctor.facts import EngineFacts, Facts, MachineFacts, ServedModel
from ktms.node.doctor.finding import Finding, finding
from ktms.node.engines.ollama_window import DecidedBy, Window, window_of

CONTEXT, PARALLEL = "OLLAMA_CONTEXT_LENGTH", "OLLAMA_NUM_PARALLEL"
WISHES = (CONTEXT, PARALLEL)
"""Variables that an owner sets in a shell, where no service reads them."""

USEFUL_TOKENS = 8192
"""Tools, a system prompt and a few turns fill less than that."""

SLOTS_OPTION = {
    EngineKind.OLLAMA: f"start Ollama with {PARALLEL}={{promised}}",
    EngineKind.VLLM: "start vLLM with --max-num-seqs {promised}",
    EngineKind.LLAMACPP: "start llama-server with -np {promised}",
    EngineKind.TGI: "start TGI with --max-concurrent-requests {promised}",
}


def window_findings(facts: Facts) -> Iterator[Finding]:
    """Judge windows and slots."""
    engine, settings = facts.engine, facts.settings
    if engine is None or settings is None or not engine.answers:
        return
    for model in engine.models:
        if engine.kind is EngineKind.OLLAMA:
            yield from _window(model, engine, facts.machine)
        elif engine.shares_window and model.window is not None:
            yield finding(Id.WINDOW_SHARED, model=model.name, tokens=model.window, slots=engine.slots)
    wish = facts.machine.wishes.get(PARALLEL) if engine.kind is EngineKind.OLLAMA else None
    promised = settings.slots or wish
    if promised is not None and engine.slots is not None and engine.slots < promised:
        yield _slots(promised, engine.slots, engine)


def _window(model: ServedModel, engine: EngineFacts, machine: MachineFacts) -> Iterator[Finding]:
    asked = window_of(loaded=None, modelfile=model.modelfile, serving=engine.serving, trained=model.trained)
    if asked is None:
        return
    if model.in_memory is not None and model.in_memory < asked.tokens:
        yield finding(
            Id.WINDOW_LOWERED,
            model=model.name,
            tokens=model.in_memory,
            promised=asked.tokens,
            decided_by=asked.decided_by,
        )
        return
    promised = _promised(model, engine, machine)
    if promised > asked.tokens:
        yield _decided(model, asked, promised)
    elif _is_default(asked) and asked.tokens < min(model.trained or 0, USEFUL_TOKENS):
        yield finding(Id.WINDOW_GPU_MEMORY, model=model.name, tokens=asked.tokens, promised=model.trained)


def _promised(model: ServedModel, engine: EngineFacts, machine: MachineFacts) -> int:
    """Give the largest window that a variable asks for, as far as the model was trained for it."""
    wish = max(machine.wishes.get(CONTEXT, 0), engine.serving.context or 0)
    return wish if model.trained is None else min(wish, model.trained)


def _decided(model: ServedModel, asked: Window, promised: int) -> Finding:
    by_file = asked.decided_by is DecidedBy.MODELFILE
    cause = Id.WINDOW_MODELFILE if by_file else Id.WINDOW_ENVIRONMENT
    return finding(cause, model=model.name, tokens=asked.tokens, promised=promised)


def _is_default(asked: Window) -> bool:
    return asked.decided_by is DecidedBy.GPU_MEMORY


def _slots(promised: int, slots: int, engine: EngineFacts) -> Finding:
    mend = SLOTS_OPTION[engine.kind].format(promised=promised)
    why = "so it was started"
    alone = next((one.name for one in engine.disk if one.is_alone and _is_served(one.name, engine)), None)
    if alone is not None:
        why, mend = f"{alone} takes one at a time, whatever it is told", "promise no more"
    elif engine.kind is EngineKind.OLLAMA:
        told = engine.serving.parallel
        why = f"{PARALLEL} is {told}" if told else f"it was started without {PARALLEL}"
    return finding(
        Id.SLOTS_FEWER, promised=promised, engine=title_of(engine.kind), slots=slots, why=why, mend=mend
    )


def _is_served(name: str, engine: EngineFacts) -> bool:
    return any(model.name == name for model in engine.models)
