"""What stands in the way of settings on this machine: each with the one thing that helps. Pure."""

from collections.abc import Iterator
from difflib import get_close_matches

from ktms.domain.catalogue import EngineKind
from ktms.node.install import pins
from ktms.node.install.engine_choice import Choice, How, has_model
from ktms.node.install.facts import Facts
from ktms.node.install.options import Asked
from ktms.node.install.pins import Pin
from ktms.node.install.refused import Refusal
from ktms.node.service.background import NODE
from ktms.node.settings import NodeSettings, Tls, Tunnel

OLLAMA_MACOS = 14
"""Older ones do not start this Ollama."""

NAMES_SHOWN = 5

AGENT_BYTES = 200 << 20
"""Environment, packages and logs of the agent, generously."""


def obstacles(asked: Asked, facts: Facts, settings: NodeSettings, choice: Choice) -> Iterator[Refusal]:
    """Name all of them."""
    if facts.settings_problem is not None:
        yield Refusal(facts.settings_problem, f"mend or remove {facts.home.settings}")
    if facts.not_ours:
        what = f"{facts.home.folder} holds {', '.join(facts.not_ours)} already, and no node"
        yield Refusal(what, "name another folder with --home, or remove that yourself")
    if facts.wheel is None and facts.agent_sha256 is None:
        yield Refusal("the agent is not installed", "run the script of the gateway: /node/v1/install.sh")
    yield from _models(settings, choice)
    yield from _room(facts, choice)
    if choice.how is How.INSTALL:
        yield from _ollama(facts)
    if settings.tunnel is not Tunnel.NONE:
        yield from _tunnel(facts, settings)
    if settings.tls is not Tls.OFF and not facts.has_certificate and "openssl" not in facts.programs:
        yield Refusal("a certificate needs the command openssl", "install openssl, or say --tls off")
    yield from _agent(asked, facts, settings)


def _models(settings: NodeSettings, choice: Choice) -> Iterator[Refusal]:
    if choice.kind is EngineKind.OLLAMA or choice.how is How.TRUST or not choice.models:
        return
    for model in settings.models:
        if not has_model(choice.kind, choice.models, model):
            near = get_close_matches(model, choice.models, NAMES_SHOWN, 0.0)
            what = f"{choice.kind.value} at {choice.url} does not serve {model}"
            yield Refusal(what, f"it serves {', '.join(near)}: name one of these with --model")


def _room(facts: Facts, choice: Choice) -> Iterator[Refusal]:
    pin = pins.OLLAMA.get((facts.system, facts.cpu))
    needed = AGENT_BYTES + (pin.needs_bytes if choice.how is How.INSTALL and pin else 0)
    if facts.free_bytes is not None and facts.free_bytes < needed:
        free, wanted = facts.free_bytes / pins.GIB, needed / pins.GIB
        yield Refusal(
            f"the disk has {free:.1f} GiB free", f"make room: {wanted:.1f} GiB are needed before any model"
        )


def _ollama(facts: Facts) -> Iterator[Refusal]:
    pin: Pin | None = None if facts.is_musl else pins.OLLAMA.get((facts.system, facts.cpu))
    if pin is None:
        what = f"no engine runs here, and no Ollama is known for {facts.system} on {facts.cpu}"
        yield Refusal(what + (" with musl" if facts.is_musl else ""), "start an engine and run this again")
        return
    if facts.major_version is not None and facts.major_version < OLLAMA_MACOS:
        yield Refusal(f"Ollama needs macOS {OLLAMA_MACOS}", "update macOS, or start an engine and run this again")
    if pin.is_zstd and not facts.unpacks_zstd:
        remedy = "sudo apt-get install zstd (or your system's way), or start an engine and run this again"
        yield Refusal("Ollama comes packed with zstd, and nothing here unpacks that", remedy)


def _tunnel(facts: Facts, settings: NodeSettings) -> Iterator[Refusal]:
    if settings.tunnel is Tunnel.NAMED and settings.public_url is None:
        yield Refusal("a tunnel of yours has a hostname of yours", "say it: --public-url https://…")
    if "cloudflared" not in facts.programs and (facts.system, facts.cpu) not in pins.CLOUDFLARED:
        what = f"no cloudflared is known for {facts.system} on {facts.cpu}"
        yield Refusal(what, "install it, and run this again")


def _agent(asked: Asked, facts: Facts, settings: NodeSettings) -> Iterator[Refusal]:
    service = facts.services.get(NODE)
    has_service = service is not None and service.text is not None
    if asked.in_foreground and has_service:
        yield Refusal("a service runs the agent already", "leave out --foreground, or --uninstall first")
    elif facts.agent_pid is not None and not has_service:
        what = f"an agent runs here already, in the foreground: process {facts.agent_pid}"
        yield Refusal(what, f"stop it first: kill {facts.agent_pid}")
    elif settings.listen_port in facts.taken_ports and facts.agent_pid is None and not asked.is_dry:
        remedy = "stop that, or take another: --listen-port PORT"
        yield Refusal(f"port {settings.listen_port} is taken by another program", remedy)
