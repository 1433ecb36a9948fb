"""Decides what an uninstall removes: services, programs, settings; all that was put here and nothing else. Pure.

An engine that was adopted stays as it is, with its models. Not here: doing it (`carry_out.py`).
"""

from collections.abc import Iterator

from ktms.node.home import FOLDER, OURS
from ktms.node.install.actions import Action, Note, Remove, StopService
from ktms.node.install.facts import Facts, Manager
from ktms.node.install.plan import Plan
from ktms.node.install.programs import AFTER_DRAIN_S, OLLAMA_STOPS_S, service_files
from ktms.node.install.refused import Refusal
from ktms.node.service.background import NODE, OLLAMA
from ktms.node.settings import DRAIN_S


def removal(facts: Facts) -> Plan:
    """Decide."""
    services = {name: one for name, one in facts.services.items() if one.text is not None}
    if facts.agent_pid is not None and NODE not in services:
        what = f"an agent runs in the foreground: process {facts.agent_pid}"
        return Plan(refusals=(Refusal(what, f"stop it first: kill {facts.agent_pid}"),))
    is_here = facts.settings is not None or facts.settings_problem is not None or facts.agent_sha256 is not None
    if not is_here and not services:
        return Plan((Note(f"no node is installed in {facts.home.folder}"),))
    return Plan(tuple(_actions(facts, tuple(services))), (), tuple(_afterwards(facts)))


def _actions(facts: Facts, services: tuple[str, ...]) -> Iterator[Action]:
    drain_s = facts.settings.drain_s if facts.settings else DRAIN_S
    stops_in_s = {NODE: int(drain_s) + AFTER_DRAIN_S, OLLAMA: OLLAMA_STOPS_S}
    for name in (NODE, OLLAMA):
        if name in services:
            yield StopService(name, stops_in_s[name])
            yield Remove(service_files(facts, name), facts.user_home)
    folder = facts.home.folder
    if folder == facts.user_home / FOLDER:
        yield Remove((folder,), facts.user_home)
    else:
        yield Remove(tuple(folder / name for name in OURS), folder.parent)


def _afterwards(facts: Facts) -> Iterator[str]:
    settings = facts.settings
    if settings is not None and facts.services.get(OLLAMA) is not None and facts.services[OLLAMA].text is None:
        yield f"{settings.engine.value} at {settings.engine_url} stays as it is, with its models"
    if facts.manager is Manager.SYSTEMD and facts.lingers:
        yield f"programs of {facts.user} still outlive the logout: loginctl disable-linger {facts.user} ends that"
    yield "the gateway still knows the node's key: ktms admin nodes revoke-key NAME ends that"
