"""The two programs that are kept running, as this machine starts them. Pure.

Not here: whether they are (`plan.py`), the words of launchd and systemd (`service/`).
"""

from pathlib import Path
from urllib.parse import urlsplit

from ktms.node.install.engine_choice import Choice
from ktms.node.install.facts import Facts, Manager
from ktms.node.install.pins import Pin
from ktms.node.service import launchd, systemd
from ktms.node.service.background import NODE, OLLAMA, Background
from ktms.node.settings import NodeSettings

AFTER_DRAIN_S = 10
"""What the agent needs beyond the answers that run."""

OLLAMA_STOPS_S = 10


def node_program(facts: Facts, settings: NodeSettings, cloudflared: Path | None) -> Background:
    """Give the agent."""
    home = facts.home
    words = [str(home.environment / "bin" / "ktms-node"), "run", "--home", str(home.folder)]
    if cloudflared is not None:
        words += ["--cloudflared", str(cloudflared)]
    if facts.manager is Manager.LAUNCHD:
        words += ["--log-file", str(home.log), "--superseded-is-success"]
    return Background(
        name=NODE,
        what="KTMS node: serves the models of this machine to a gateway",
        words=tuple(words),
        variables=facts.carried,
        stops_in_s=int(settings.drain_s) + AFTER_DRAIN_S,
        log=home.log.with_name("start.log"),
    )


def ollama_program(facts: Facts, choice: Choice, settings: NodeSettings, pin: Pin | None) -> Background:
    """Give Ollama; `pin` None: it is the machine's own, and so are its models."""
    place = urlsplit(choice.url).netloc
    variables = [("OLLAMA_HOST", place), ("OLLAMA_NO_CLOUD", "1"), ("OLLAMA_KEEP_ALIVE", "-1")]
    if settings.slots is not None:
        variables.append(("OLLAMA_NUM_PARALLEL", str(settings.slots)))
    program = choice.program
    if pin is not None:
        program = str(facts.home.programs / OLLAMA / pin.program)
        # Its key and its models lie below what it takes for the home.
        variables.append(("HOME", str(facts.home.folder / "engine")))
    assert program is not None, "it is here or it is installed"
    return Background(
        name=OLLAMA,
        what="Ollama for the KTMS node",
        words=(program, "serve"),
        variables=(*variables, *facts.carried),
        stops_in_s=OLLAMA_STOPS_S,
        log=facts.home.log.with_name("ollama.log"),
    )


def service_path(facts: Facts, name: str) -> Path:
    """Give where the file of a service lies."""
    paths = launchd.plist_path if facts.manager is Manager.LAUNCHD else systemd.unit_path
    return paths(facts.user_home, name)


def service_files(facts: Facts, name: str) -> tuple[Path, ...]:
    """Give all that a service leaves in the home of its user."""
    path = service_path(facts, name)
    return (path,) if facts.manager is Manager.LAUNCHD else (path, path.parent / systemd.WANTS / path.name)


def service_text(facts: Facts, program: Background) -> str:
    """Write that file."""
    return launchd.plist_text(program) if facts.manager is Manager.LAUNCHD else systemd.unit_text(program)
