"""The engine: its port, its pages, its processes. Nothing in it is changed, loaded or restarted.

What can be known of any engine comes from its own look (`engines/`). Not here: what only Ollama tells
(`ask_ollama.py`), what follows (`engine_rules.py` and its neighbours).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import aiohttp

from ktms.domain.catalogue import EngineKind
from ktms.node.doctor.ask_ollama import ask_ollama
from ktms.node.doctor.ask_ports import look_at_port, place_of_url
from ktms.node.doctor.ask_service import read_properties, uid_of
from ktms.node.doctor.engine_rules import PROGRAMS, title_of
from ktms.node.doctor.facts import EngineFacts, OnDisk, Page, ServedModel
from ktms.node.engines.all_of_them import engine_of
from ktms.node.engines.found import found_at
from ktms.node.engines.http import EngineHttp
from ktms.node.engines.llamacpp_options import is_divided, server_process
from ktms.node.engines.processes import Process
from ktms.node.filter.own_models import own_models
from ktms.node.machine import Machine
from ktms.node.service import launchd, systemd
from ktms.node.service.background import OLLAMA
from ktms.node.settings import NodeSettings
from ktms.node.state import ModelState

ASK_S = 4.0
SHOWN = "LoadState,ActiveState,SubState"

P_TRANSLATED = 0x20000
"""Of the flags of a process under macOS: it runs under Rosetta (`sys/proc.h`)."""

START = {
    EngineKind.OLLAMA: "ollama serve, or its app",
    EngineKind.VLLM: "vllm serve, as you did before",
    EngineKind.LLAMACPP: "llama-server, as you did before",
    EngineKind.TGI: "its container, as you did before",
}


async def ask_engine(
    machine: Machine, settings: NodeSettings, processes: Sequence[Process], session: aiohttp.ClientSession
) -> EngineFacts:
    """Ask everything that is to be known of it."""
    kind, url = settings.engine, settings.engine_url
    port = await look_at_port(machine, *place_of_url(url))
    service, start = await asyncio.to_thread(_service, machine, kind, processes)
    facts = EngineFacts(kind, url, port, service=service, start=start)
    if not port.is_open:
        return facts
    state = await engine_of(kind, url, session, machine).look()
    if not state.answers:
        page = await EngineHttp(url, session).page("/v1/models")
        there = None if page is None else Page(page.status, not page.body)
        found = await found_at(url, session)
        return replace(facts, page=there, other=None if found is None else found.kind)
    pid = port.owner.pid if port.owner is not None else _pid(kind, processes)
    facts = replace(
        facts,
        answers=True,
        version=state.version,
        slots=state.slots,
        models=tuple(_model(one) for one in own_models(state, settings.models)),
        disk=tuple(OnDisk(one.name) for one in state.models),
        is_translated=await asyncio.to_thread(is_translated, machine, pid),
    )
    if kind is EngineKind.LLAMACPP:
        process = await asyncio.to_thread(server_process, machine, port.number)
        is_shared = process is not None and not is_divided(process) and (state.slots or 0) > 1
        return replace(facts, shares_window=is_shared)
    return await ask_ollama(facts, machine, session) if kind is EngineKind.OLLAMA else facts


def _model(told: ModelState) -> ServedModel:
    return ServedModel(told.name, told.loaded, on_gpu=told.on_gpu, window=told.context_window)


def is_translated(machine: Machine, pid: int | None) -> bool | None:
    """Whether a process of macOS runs under Rosetta; it waits for `ps`, so never in an event loop."""
    if machine.system != "darwin" or pid is None:
        return None
    ran = machine.run(("ps", "-o", "flags=", "-p", str(pid)), within_s=ASK_S)
    try:
        return bool(int(ran.out.strip(), 16) & P_TRANSLATED)
    except ValueError:
        return None


def _pid(kind: EngineKind, processes: Sequence[Process]) -> int | None:
    """Find the engine's process where nobody tells whose the port is."""
    found = [one for one in processes if one.program.casefold().startswith(PROGRAMS[kind][:1])]
    return found[0].pid if len(found) == 1 else None


def _service(machine: Machine, kind: EngineKind, processes: Sequence[Process]) -> tuple[str, str]:
    """Say what is known of whoever should run it, and how it is started."""
    found = next((one for one in processes if one.program.casefold().startswith(PROGRAMS[kind][:1])), None)
    process = "no process of it runs" if found is None else f"its process {found.pid} runs"
    of_ours = _our_service(machine) if kind is EngineKind.OLLAMA else None
    if of_ours is not None:
        return process, of_ours
    if machine.system != "linux" or kind is not EngineKind.OLLAMA:
        return process, START.get(kind, title_of(kind))
    shown = machine.run(("systemctl", "show", "ollama", f"--property={SHOWN}"), within_s=ASK_S)
    told = read_properties(shown.out) if shown.code == 0 else {}
    if told.get("LoadState") != "loaded":
        return process, START[kind]
    state = f"{told.get('ActiveState', '?')} ({told.get('SubState', '?')})"
    return f"{process}, its service is {state}", "sudo systemctl start ollama"


def _our_service(machine: Machine) -> str | None:
    """Give what starts the Ollama that our installer brought; None where it did not."""
    uid = uid_of(machine)
    if machine.system == "darwin":
        domain = launchd.loaded_in(machine, uid, OLLAMA)
        return None if domain is None else f"launchctl kickstart {domain}/{launchd.label(OLLAMA)}"
    words, unit = systemd.words_of(machine.variables, uid), systemd.unit_name(OLLAMA)
    told = read_properties(machine.run((*words, "show", unit), within_s=ASK_S).out)
    return f"systemctl --user start {unit}" if told.get("LoadState") == "loaded" else None
