"""What is wrong with the models that this node is to serve: not there, named otherwise, not in memory, on the CPU.

Pure. Names are matched as the filter does. Not here: windows and slots (`window_rules.py`).
"""

import difflib
from collections.abc import Iterator

from ktms.domain.capacity.serving import same_model, with_tag
from ktms.domain.catalogue import EngineKind
from ktms.node.doctor.cause import Id
from ktms.node.doctor.engine_rules import title_of
from ktms.node.doctor.facts import EngineFacts, Facts, MachineFacts, OnDisk, ServedModel
from ktms.node.doctor.finding import Finding, finding, size
from ktms.node.filter.listing import WHOLLY
from ktms.node.filter.own_models import is_cloud

NEAR_MAX = 3
NEAR_LEAST = 0.6
"""Names as alike as `qwen3:4b` and `qwen3:8b`, not as `qwen3` and `phi4`."""

MAKER = "its maker's cloud"


def model_findings(facts: Facts) -> Iterator[Finding]:
    """Judge the models."""
    engine, settings = facts.engine, facts.settings
    if engine is None or settings is None or not engine.answers:
        return
    served = {with_tag(model.name) for model in engine.models}
    for name in settings.models:
        if with_tag(name) not in served:
            yield _absent(name, engine)
    if not settings.models and not engine.models:
        yield _absent("a model", engine)
    for model in engine.models:
        yield from _memory(model, engine, facts.machine)


def _absent(name: str, engine: EngineFacts) -> Finding:
    """Say why a model that was named is not served."""
    listed = next((one for one in engine.disk if with_tag(one.name) == with_tag(name)), None)
    pull = _pull(name.removesuffix("-cloud").removesuffix(":cloud"), engine)
    if is_cloud(name) or (listed is not None and listed.remote):
        remote = listed.remote if listed is not None and listed.remote else MAKER
        return finding(Id.MODEL_CLOUD, model=name, remote=remote, pull=pull)
    if listed is not None and not listed.can_chat:
        return finding(Id.MODEL_NO_CHAT, model=name)
    usable = [one for one in engine.disk if not one.remote and not is_cloud(one.name)]
    meant = _meant(name, usable)
    if meant:
        where = {"model": name, "full": with_tag(name), "engine": title_of(engine.kind)}
        return finding(Id.MODEL_NAME, **where, near=", ".join(meant), first=meant[0], pull=pull)
    alike = difflib.get_close_matches(name, [one.name for one in usable], NEAR_MAX, NEAR_LEAST)
    near = f"; there is {', '.join(alike)}" if alike else ""
    return finding(Id.MODEL_MISSING, model=name, near=near, pull=pull)


def _meant(name: str, listed: list[OnDisk]) -> list[str]:
    """Give the models that differ from a name in its missing tag only, or in how they are spelled."""
    bare = ":" not in name.rpartition("/")[2]
    return [
        one.name
        for one in listed
        if same_model(name, one.name) or (bare and one.name.casefold().rpartition(":")[0] == name.casefold())
    ][:NEAR_MAX]


def _pull(name: str, engine: EngineFacts) -> str:
    if engine.kind is EngineKind.OLLAMA:
        return f"ollama pull {name}"
    return f"start {title_of(engine.kind)} with it"


def _memory(model: ServedModel, engine: EngineFacts, machine: MachineFacts) -> Iterator[Finding]:
    if model.is_loading:
        yield finding(Id.MODEL_LOADING, model=model.name)
    elif model.loaded is False:
        yield from _cold(model, engine, machine)
    elif model.on_gpu is not None and model.on_gpu < WHOLLY:
        yield from _slow(model, engine, machine)


def _cold(model: ServedModel, engine: EngineFacts, machine: MachineFacts) -> Iterator[Finding]:
    on_disk = next((one.size_bytes for one in engine.disk if same_model(one.name, model.name)), None)
    if on_disk and machine.memory_bytes and on_disk > machine.memory_bytes + _card(machine):
        memory = size(machine.memory_bytes + _card(machine))
        yield finding(Id.MODEL_TOO_LARGE, model=model.name, size=size(on_disk), memory=memory)
        return
    free = "" if machine.free_bytes is None else f", {size(machine.free_bytes)} are free"
    need = f"it needs {size(on_disk)} and room for its window{free}; its first call waits for that"
    command = f"ollama run --keepalive -1s {model.name} ''"
    if engine.kind is not EngineKind.OLLAMA:
        command = f"a call to {title_of(engine.kind)} loads it; keep it from unloading where it idles"
    yield finding(Id.MODEL_COLD, model=model.name, need=need, command=command)


def _card(machine: MachineFacts) -> int:
    """Give the memory of graphics cards; that of a Mac is its own."""
    return 0 if machine.system == "darwin" else machine.gpu_bytes or 0


def _slow(model: ServedModel, engine: EngineFacts, machine: MachineFacts) -> Iterator[Finding]:
    share = model.on_gpu or 0.0
    if share > 0:
        yield finding(Id.SPLIT_LOAD, model=model.name, share=f"{share:.0%}")
        return
    if machine.system == "linux" and machine.gpu_bytes and machine.suspends:
        yield finding(Id.GPU_LOST, engine=title_of(engine.kind))
    why, mend = "this machine shows no GPU that it could use", "serve small models alone, or use the cloud for it"
    if machine.gpu_bytes:
        why = f"there is a GPU with {size(machine.gpu_bytes)}, and {title_of(engine.kind)} does not use it"
        mend = "see its log for the reason; a driver, or num_gpu of the Modelfile, keeps it from it"
    yield finding(Id.ON_CPU, model=model.name, why=why, mend=mend)
