"""Gathers all facts: settings and status from the files of the agent, the rest by asking, all at once and bounded.

Asking changes nothing: no process is started but commands that print, nothing is loaded, restarted or written. Not
here: each question (`ask_*.py`), what follows (`judge.py`).
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from ktms.node.agent import METRICS_PORT
from ktms.node.doctor.ask_engine import ask_engine
from ktms.node.doctor.ask_gateway import ask_gateway
from ktms.node.doctor.ask_machine import ask_machine
from ktms.node.doctor.ask_ports import look_at_port, look_at_url
from ktms.node.doctor.ask_service import ask_service
from ktms.node.doctor.ask_tunnel import EDGE, Edge, ask_tunnel
from ktms.node.doctor.facts import AgentFacts, Facts, Port, TunnelFacts
from ktms.node.engines.processes import Process, processes
from ktms.node.far import far_session
from ktms.node.home import NodeHome
from ktms.node.machine import Machine
from ktms.node.settings import NodeSettings, Tunnel
from ktms.node.settings_file import SettingsUnusable, read_settings
from ktms.node.status import read_status

SAID_LENGTH_MAX = 200
"""A line, not a trace."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom the doctor asks. `now` gives seconds since 1970."""

    home: NodeHome
    machine: Machine
    now: Callable[[], float]
    metrics_port: int = METRICS_PORT
    edge: Edge = EDGE


async def gather(asked: Asked) -> Facts:
    """Gather them; where there are no settings, only the machine is asked."""
    machine, home = asked.machine, asked.home
    folders = [home.folder if home.folder.exists() else home.folder.parent]
    folders += [Path(place) for place in [machine.variables.get("OLLAMA_MODELS")] if place]
    about = await asyncio.to_thread(ask_machine, machine, folders)
    try:
        settings = await asyncio.to_thread(read_settings, home.settings)
    except SettingsUnusable as error:
        return Facts(about, unusable=str(error))
    running = await asyncio.to_thread(processes, machine, lambda _: True)
    status = await asyncio.to_thread(read_status, home.status)
    agent = await asyncio.to_thread(_agent, home, machine, status, running)
    alive = status if agent.alive else None
    async with aiohttp.ClientSession() as near, far_session() as far:
        engine, gateway, tunnel, port, public, service = await asyncio.gather(
            ask_engine(machine, settings, running, near),
            ask_gateway(settings, alive, far, asked.now),
            _tunnel(asked, settings, alive, running, near, far),
            look_at_port(machine, settings.listen_host, settings.listen_port),
            _public(settings),
            asyncio.to_thread(ask_service, machine, agent.pid, running),
        )
    return Facts(
        about,
        settings=settings,
        agent=agent,
        filter=port,
        public=public,
        engine=engine,
        gateway=gateway,
        tunnel=tunnel,
        service=service,
    )


def _agent(
    home: NodeHome, machine: Machine, status: Mapping[str, object] | None, running: tuple[Process, ...]
) -> AgentFacts:
    """Say whether the process that wrote the status is still there; where `ps` is missing, `/proc` may tell."""
    pid = None if status is None else status.get("pid")
    if isinstance(pid, int):
        is_listed = any(one.pid == pid for one in running)
        if is_listed or (not running and machine.read(Path(f"/proc/{pid}/stat")) is not None):
            return AgentFacts(alive=True, pid=pid)
    lines = (machine.read(home.log) or "").strip().splitlines()
    return AgentFacts(alive=False, said_last=lines[-1][:SAID_LENGTH_MAX] if lines else None)


async def _public(settings: NodeSettings) -> Port | None:
    """Look at the public URL where no tunnel stands behind it, whose edge speaks for itself."""
    if settings.public_url is None or settings.tunnel is not Tunnel.NONE:
        return None
    return await look_at_url(settings.public_url)


async def _tunnel(
    asked: Asked,
    settings: NodeSettings,
    status: Mapping[str, object] | None,
    running: tuple[Process, ...],
    near: aiohttp.ClientSession,
    far: aiohttp.ClientSession,
) -> TunnelFacts | None:
    if settings.tunnel is Tunnel.NONE:
        return None
    told = None if status is None else status.get("url")
    url = told if isinstance(told, str) else settings.public_url
    return await ask_tunnel(
        settings,
        metrics_port=asked.metrics_port,
        url=url,
        processes=running,
        edge=asked.edge,
        near=near,
        far=far,
    )
