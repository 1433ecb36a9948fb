"""Decides what has to be done: options and facts in, steps out, or what stands in the way. Pure.

What is as it should be is not touched: a second run with the same options only asks whether the node is well. Not
here: removing (`removal.py`), doing it (`carry_out.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.install import pins
from ktms.node.install.actions import (
    Action,
    AwaitAnnounced,
    AwaitEngine,
    Hold,
    InstallAgent,
    InstallProgram,
    Linger,
    MakeCertificate,
    Note,
    PullModel,
    Remove,
    StartService,
    StayWith,
    Verify,
    WriteFile,
    WriteSettings,
)
from ktms.node.install.engine_choice import Choice, How, Wish, choose, has_model
from ktms.node.install.facts import Facts, Manager, mark_of
from ktms.node.install.obstacles import obstacles
from ktms.node.install.options import Asked
from ktms.node.install.programs import node_program, ollama_program, service_path, service_text
from ktms.node.install.refused import Refusal
from ktms.node.service import foreground
from ktms.node.service.background import NODE, OLLAMA, Background
from ktms.node.settings import NodeSettings, Tls, Tunnel

ANNOUNCED_S = 90.0
"""The agent starts in a second; a tunnel may take its time, and another way after 30 s."""

LOOPBACK = "127.0.0.1"
SAMPLE = "127."


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, in order, unless something refuses it; `afterwards` is told at the end."""

    actions: tuple[Action, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    afterwards: tuple[str, ...] = ()


def plan(asked: Asked, facts: Facts) -> Plan:
    """Decide."""
    before = facts.settings
    wish = Wish(
        kind=asked.engine or (before.engine if before and asked.engine_url is None else None),
        url=asked.engine_url,
        kept_url=before.engine_url if before else None,
        models=_models(asked, before),
    )
    is_ours = facts.services[OLLAMA].text is not None if OLLAMA in facts.services else False
    choice = choose(wish, facts.engines, facts.programs.get("ollama"), is_ours=is_ours, taken=facts.taken_ports)
    if isinstance(choice, Refusal):
        return Plan(refusals=(choice, *_nameless(asked, before)))
    settings = _settle(asked, facts, choice)
    if settings is None:
        return Plan(refusals=tuple(_nameless(asked, before)))
    refusals = tuple(obstacles(asked, facts, settings, choice))
    if refusals:
        return Plan(refusals=refusals)
    return _Planner(asked, facts, settings, choice).plan()


def _models(asked: Asked, before: NodeSettings | None) -> tuple[str, ...]:
    named = asked.changes.get("models")
    if isinstance(named, tuple):
        return named
    return before.models if before else ()


def _nameless(asked: Asked, before: NodeSettings | None) -> Iterator[Refusal]:
    if before is None and "gateway" not in asked.changes:
        yield Refusal("no gateway is named", "name it: --gateway https://…")
    if before is None and "node_key" not in asked.changes:
        remedy = "put it into the variable KTMS_NODE_KEY, or name a file that holds it: --key-file FILE"
        yield Refusal("no node key is given", remedy)


def _settle(asked: Asked, facts: Facts, choice: Choice) -> NodeSettings | None:
    """Give the settings that are asked for; None where gateway or key are not known."""
    engine = {"engine": choice.kind, "engine_url": choice.url}
    if facts.settings is not None:
        settled = replace(facts.settings, **{**asked.changes, **engine})  # type: ignore[arg-type]  # checked there
    else:
        gateway, key = asked.changes.get("gateway"), asked.changes.get("node_key")
        if not isinstance(gateway, str) or not isinstance(key, Secret):
            return None
        rest = {name: value for name, value in asked.changes.items() if name not in {"gateway", "node_key"}}
        settled = NodeSettings(gateway, key, facts.new_token, choice.kind, choice.url)
        settled = replace(settled, **rest)  # type: ignore[arg-type]  # options.py names members of the settings
    return replace(settled, listen_host=_listen_host(settled, facts.address))


def _listen_host(settings: NodeSettings, address: str | None) -> str:
    """Listen for others only where others come: not behind a tunnel, not for a gateway on this machine."""
    if settings.tunnel is not Tunnel.NONE or (address or "").startswith(SAMPLE):
        return LOOPBACK
    return "::" if ":" in (address or "") else "0.0.0.0"  # noqa: S104 - the gateway dials from elsewhere


class _Planner:
    """Decides the steps for settings that nothing refuses."""

    def __init__(self, asked: Asked, facts: Facts, settings: NodeSettings, choice: Choice) -> None:
        self._asked, self._facts, self._settings, self._choice = asked, facts, settings, choice
        self._has_service = facts.manager is not Manager.NONE and not asked.in_foreground

    def plan(self) -> Plan:
        """Decide."""
        facts, home = self._facts, self._facts.home
        engine = tuple(self._engine())
        prepared = tuple(self._prepared())
        started = tuple(self._started(is_new=any(not isinstance(one, Note) for one in prepared)))
        checked: tuple[Action, ...] = ()
        if self._has_service or self._asked.in_foreground:
            program = home.environment / "bin" / "ktms-node"
            checked = (AwaitAnnounced(home.status, ANNOUNCED_S), Verify(program, home.folder))
        if self._asked.in_foreground:
            checked = (*checked, StayWith())
        is_done = all(isinstance(one, Note) for one in (*engine, *prepared, *started))
        done = (Note("all is as it should be: nothing is changed"),) if is_done else ()
        return Plan((*engine, *prepared, *started, *done, *checked), (), tuple(self._afterwards(facts)))

    def _engine(self) -> Iterator[Action]:
        """Have an engine that has the models."""
        choice, facts = self._choice, self._facts
        yield Note(_chosen(choice))
        if choice.how in {How.START, How.INSTALL}:
            yield from self._own_ollama()
        if choice.kind is EngineKind.OLLAMA:
            for model in self._settings.models:
                if choice.how is not How.TRUST and not has_model(choice.kind, choice.models, model):
                    yield PullModel(choice.url, model)
        for other in choice.others:
            yield Note(f"{other.kind.value} at {other.url} is left alone; --engine-url {other.url} takes it")
        if facts.uid == 0:
            yield Note("this runs as root: a node needs no such rights, an ordinary user is better")

    def _own_ollama(self) -> Iterator[Action]:
        facts, choice = self._facts, self._choice
        pin = pins.OLLAMA.get((facts.system, facts.cpu))
        is_ours = choice.how is How.INSTALL or facts.unpacked.get(OLLAMA) is not None
        is_new = pin is not None and is_ours and facts.unpacked.get(OLLAMA) != pin.sha256
        if is_new and pin is not None:
            yield InstallProgram(pin, facts.home.programs / OLLAMA)
        program = ollama_program(facts, choice, self._settings, pin if is_ours else None)
        started = tuple(self._background(program, is_new=is_new))
        yield from started
        if started:
            yield AwaitEngine(choice.url)

    def _background(self, program: Background, *, is_new: bool) -> Iterator[Action]:
        """Have a program run from now on."""
        if not self._has_service:
            is_up = any(one.url == self._choice.url for one in self._facts.engines)
            if program.name == NODE or not is_up:
                yield Hold(program)
            return
        facts, path = self._facts, service_path(self._facts, program.name)
        here, text = facts.services.get(program.name), service_text(facts, program)
        is_changed = here is None or here.text != text
        if is_changed:
            yield WriteFile(path, text)
        if is_changed or is_new or here is None or not here.runs:
            yield StartService(program, path)

    def _prepared(self) -> Iterator[Action]:
        """Have all that the agent needs."""
        facts, settings, home = self._facts, self._settings, self._facts.home
        if settings.tunnel is not Tunnel.NONE:
            pin = pins.CLOUDFLARED.get((facts.system, facts.cpu))
            is_ours = "cloudflared" not in facts.programs or "cloudflared" in facts.unpacked
            if is_ours and pin is not None and facts.unpacked.get("cloudflared") != pin.sha256:
                yield InstallProgram(pin, home.programs / "cloudflared")
        if facts.wheel is not None and facts.wheel_sha256 is not None and facts.wheel_sha256 != facts.agent_sha256:
            yield InstallAgent(facts.python, home.environment, facts.wheel, facts.wheel_sha256, mark_of(home))
        if settings.tls is not Tls.OFF and not facts.has_certificate:
            host = urlsplit(settings.public_url).hostname if settings.public_url else None
            yield MakeCertificate(home.certificate, home.certificate_key, host or facts.address or LOOPBACK)
        if settings != facts.settings:
            yield WriteSettings(home.settings, settings)
        if settings.gateway.startswith("http://") and not (facts.address or SAMPLE).startswith(SAMPLE):
            yield Note("the gateway is reached without TLS: whoever is on the way reads the node key")

    def _started(self, *, is_new: bool) -> Iterator[Action]:
        """Have the agent run."""
        facts, home = self._facts, self._facts.home
        if not self._has_service and not self._asked.in_foreground:
            return
        actions = tuple(self._background(node_program(facts, self._settings, self._cloudflared()), is_new=is_new))
        if actions:
            # What an earlier agent wrote must not be taken for the word of this one.
            yield Remove((home.status,), home.folder)
        if self._has_service and facts.manager is Manager.SYSTEMD and not facts.lingers:
            yield Linger(facts.user)
        yield from actions

    def _cloudflared(self) -> Path | None:
        if self._settings.tunnel is Tunnel.NONE:
            return None
        found = self._facts.programs.get("cloudflared")
        return Path(found) if found else self._facts.home.programs / "cloudflared" / "cloudflared"

    def _afterwards(self, facts: Facts) -> Iterator[str]:
        if self._has_service:
            yield "ktms-node is in " + str(facts.home.environment / "bin")
            if facts.manager is Manager.LAUNCHD:
                yield "after a restart of this Mac the node comes back when this user has logged in"
            return
        if self._asked.in_foreground:
            return
        yield f"{facts.why_no_service}: nothing here keeps programs running, so start the agent yourself, with"
        programs = [node_program(facts, self._settings, self._cloudflared())]
        if self._choice.how in {How.START, How.INSTALL}:
            pin = pins.OLLAMA.get((facts.system, facts.cpu))
            is_ours = self._choice.how is How.INSTALL or OLLAMA in facts.unpacked
            programs.insert(0, ollama_program(facts, self._choice, self._settings, pin if is_ours else None))
        yield from (f"  {line}" for line in foreground.commands(programs))


def _chosen(choice: Choice) -> str:
    called = choice.kind.value + (f" {choice.version}" if choice.version else "")
    match choice.how:
        case How.ADOPT:
            return f"adopt {called}, which runs at {choice.url}"
        case How.START:
            return f"use {called} of this machine ({choice.program}) at {choice.url}"
        case How.INSTALL:
            return f"no engine runs here: {called} gets its place at {choice.url}"
        case How.TRUST:
            return f"take {called} at {choice.url}, which does not answer now"
