"""All that is asked before anything is decided: the machine, its engines, what an earlier run has left.

Rules: asking changes nothing. Not here: what follows (`plan.py`).
"""

import hashlib
import re
import secrets
import ssl
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from ktms.domain.access.secret import Secret
from ktms.node.home import NodeHome
from ktms.node.install.engine_choice import OLLAMA_PORT, PORTS_TRIED
from ktms.node.install.engines_here import HOST, URLS, EngineHere, find_engines, listens
from ktms.node.install.options import Asked
from ktms.node.machine import Machine
from ktms.node.own_address import own_address_towards
from ktms.node.service import foreground, launchd, systemd
from ktms.node.service.background import NODE, OLLAMA
from ktms.node.settings import LISTEN_PORT, NodeSettings
from ktms.node.settings_file import SettingsUnusable, read_settings

TOKEN_BYTES = 32

CPUS = {"arm64": "arm64", "aarch64": "arm64", "x86_64": "amd64", "amd64": "amd64"}

USUAL_PLACES: Mapping[str, tuple[str, ...]] = {
    "ollama": (
        "/Applications/Ollama.app/Contents/Resources/ollama",
        "/opt/homebrew/bin/ollama",
        "/usr/local/bin/ollama",
        "/usr/bin/ollama",
    ),
    "cloudflared": ("/opt/homebrew/bin/cloudflared", "/usr/local/bin/cloudflared", "/usr/bin/cloudflared"),
    "zstd": ("/opt/homebrew/bin/zstd", "/usr/local/bin/zstd", "/usr/bin/zstd"),
    "openssl": ("/usr/bin/openssl",),
}
"""Beside those on PATH, which a shell over SSH has not all of."""

FIRST_OF = 'for one in "$@"; do command -v "$one" && break; done'
"""Gives the path of the first program that there is."""

CARRIED = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
"""Variables without which the agent may not reach the gateway; in capitals as well. They go into its service."""

MAC_AUTHORITIES = "/etc/ssl/cert.pem"
"""Every Mac has this list of certificate authorities; a Python from python.org comes without one."""

_DF_FREE = re.compile(r"^\S.*?\s\d+\s+\d+\s+(-?\d+)\s+\d+%\s+/", re.MULTILINE)
_MACOS = re.compile(r"^(\d+)\.")


class Manager(Enum):
    """What keeps programs running for this user."""

    SYSTEMD = "systemd"
    LAUNCHD = "launchd"
    NONE = "nothing"


@dataclass(frozen=True, slots=True)
class ServiceHere:
    """A program in the background, as it is now: the text of its file, whether it runs."""

    text: str | None = None
    runs: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known. `python` makes the agent's environment; `wheel_sha256` is of what is to be installed.

    `agent_sha256`: of the wheel that is installed; `agent_pid`: of an agent that runs; `new_token`: for a node
    that has none. `settings_problem`: there is a file, and it cannot be used. `unpacked`: SHA-256 of the archives
    of the programs that were installed. `carried`: variables that the agent needs. `not_ours`: see `NodeHome`.
    """

    system: str
    cpu: str
    user: str
    uid: int
    user_home: Path
    home: NodeHome
    python: str
    new_token: Secret
    engines: tuple[EngineHere, ...] = ()
    programs: Mapping[str, str] = field(default_factory=dict)
    unpacked: Mapping[str, str] = field(default_factory=dict)
    carried: tuple[tuple[str, str], ...] = ()
    manager: Manager = Manager.NONE
    why_no_service: str = ""
    systemctl: tuple[str, ...] = ()
    lingers: bool = True
    services: Mapping[str, ServiceHere] = field(default_factory=dict)
    settings: NodeSettings | None = None
    settings_problem: str | None = None
    wheel: Path | None = None
    wheel_sha256: str | None = None
    agent_sha256: str | None = None
    agent_pid: int | None = None
    has_certificate: bool = False
    address: str | None = None
    taken_ports: frozenset[int] = frozenset()
    free_bytes: int | None = None
    unpacks_zstd: bool = False
    major_version: int | None = None
    is_musl: bool = False
    not_ours: tuple[str, ...] = ()


def gather(
    machine: Machine,
    asked: Asked,
    wheel: Path | None,
    look: Callable[..., tuple[EngineHere, ...]] = find_engines,
    base_python: str = "",
) -> Facts:
    """Ask everything."""
    home = asked.home
    settings, problem = _settings(home)
    gateway = asked.changes.get("gateway") or (settings.gateway if settings else None)
    port = asked.changes.get("listen_port") or (settings.listen_port if settings else LISTEN_PORT)
    ports = {port, *range(OLLAMA_PORT, OLLAMA_PORT + PORTS_TRIED)}
    extra = {url for url in (asked.engine_url, settings.engine_url if settings else None) if url}
    programs = _programs(machine, home)
    facts = Facts(
        system=machine.system,
        cpu=_cpu(machine),
        user=_said(machine, "id", "-un"),
        uid=int(_said(machine, "id", "-u") or -1),
        user_home=Path(machine.variables.get("HOME") or Path.home()),
        home=home,
        python=base_python or sys.executable,
        new_token=Secret(secrets.token_urlsafe(TOKEN_BYTES)),
        engines=look(tuple(dict.fromkeys((*URLS, *sorted(extra))))),
        programs=programs,
        carried=_carried(machine),
        settings=settings,
        settings_problem=problem,
        not_ours=home.not_ours(),
        wheel=wheel,
        wheel_sha256=None if wheel is None else hashlib.sha256(wheel.read_bytes()).hexdigest(),
        address=own_address_towards(str(gateway)) if gateway else None,
        taken_ports=frozenset(one for one in ports if isinstance(one, int) and listens(f"http://{HOST}:{one}")),
        unpacks_zstd="zstd" in programs or sys.version_info >= (3, 14),
        major_version=_major_version(machine),
        is_musl=machine.run(("sh", "-c", "ls /lib/ld-musl-*.so.1")).code == 0,
    )
    return _with_services(
        machine, _with_earlier(machine, replace(facts, free_bytes=_free(machine, facts.user_home)))
    )


def _with_earlier(machine: Machine, facts: Facts) -> Facts:
    """Add what an earlier run has left."""
    home = facts.home
    return replace(
        facts,
        unpacked={
            name: text.strip() for name in USUAL_PLACES if (text := machine.read(unpacked_mark(home, name)))
        },
        agent_sha256=(machine.read(mark_of(home)) or "").strip() or None,
        agent_pid=agent_pid(machine, home),
        has_certificate=None not in {machine.read(home.certificate), machine.read(home.certificate_key)},
    )


def _with_services(machine: Machine, facts: Facts) -> Facts:
    """Add what keeps programs running here, and which of ours it keeps."""
    systemctl = systemd.words_of(machine.variables, facts.uid)
    manager = _manager(machine, systemctl)
    known = replace(facts, manager=manager, systemctl=systemctl)
    return replace(
        known,
        why_no_service=foreground.why_no_service(machine) if manager is Manager.NONE else "",
        lingers=manager is not Manager.SYSTEMD or systemd.lingers(machine, facts.user),
        services={name: _service(machine, known, name) for name in (NODE, OLLAMA)},
    )


def mark_of(home: NodeHome) -> Path:
    """Give where it is written which wheel is installed, once that is complete."""
    return home.environment / "ktms-node.sha256"


def unpacked_mark(home: NodeHome, name: str) -> Path:
    """Give where it is written which archive of a program was unpacked."""
    return home.programs / f"{name}.sha256"


def agent_pid(machine: Machine, home: NodeHome) -> int | None:
    """Give the process of the agent that runs with this folder; None where none does."""
    found = re.search(r'"pid": (\d+)', machine.read(home.status) or "")
    if found is None:
        return None
    # Slim images have no `ps`, and that of busybox other options.
    words = machine.read(Path(f"/proc/{found[1]}/cmdline"))
    if words is None:
        words = machine.run(("ps", "-ww", "-p", found[1], "-o", "args=")).out  # else cut at COLUMNS
    return int(found[1]) if "ktms-node" in words else None


def _settings(home: NodeHome) -> tuple[NodeSettings | None, str | None]:
    if not home.settings.exists():
        return None, None
    try:
        return read_settings(home.settings), None
    except SettingsUnusable as error:
        return None, str(error)


def _cpu(machine: Machine) -> str:
    # Under Rosetta `uname` says x86_64 on Apple silicon.
    if machine.system == "darwin" and _said(machine, "sysctl", "-n", "hw.optional.arm64") == "1":
        return "arm64"
    said = _said(machine, "uname", "-m")
    return CPUS.get(said, said)


def _programs(machine: Machine, home: NodeHome) -> dict[str, str]:
    found = {}
    for name, places in USUAL_PLACES.items():
        inside = (str(home.programs / name / "bin" / name), str(home.programs / name / name))
        ran = machine.run(("sh", "-c", FIRST_OF, "sh", *inside, name, *places))
        path = ran.out.strip()
        if path.startswith("/"):
            found[name] = path
    return found


def _carried(machine: Machine) -> tuple[tuple[str, str], ...]:
    names = (name for lower in CARRIED for name in (lower, lower.upper()))
    found = [(name, value) for name in names if (value := machine.variables.get(name)) and value.isprintable()]
    paths = ssl.get_default_verify_paths()
    has_authorities = bool(paths.cafile) or (bool(paths.capath) and any(Path(paths.capath).iterdir()))
    if not has_authorities and Path(MAC_AUTHORITIES).exists():
        found.append(("SSL_CERT_FILE", MAC_AUTHORITIES))
    return tuple(found)


def _manager(machine: Machine, systemctl: tuple[str, ...]) -> Manager:
    if machine.system == "darwin":
        return Manager.LAUNCHD
    return Manager.SYSTEMD if systemd.answers(machine, systemctl) else Manager.NONE


def _service(machine: Machine, facts: Facts, name: str) -> ServiceHere:
    if facts.manager is Manager.LAUNCHD:
        text = machine.read(launchd.plist_path(facts.user_home, name))
        return ServiceHere(text, text is not None and launchd.loaded_in(machine, facts.uid, name) is not None)
    text = machine.read(systemd.unit_path(facts.user_home, name))
    is_there = facts.manager is Manager.SYSTEMD and text is not None
    return ServiceHere(text, is_there and systemd.is_active(machine, facts.systemctl, name))


def _free(machine: Machine, folder: Path) -> int | None:
    found = _DF_FREE.search(machine.run(("df", "-Pk", str(folder))).out)
    return int(found[1]) * 1024 if found else None


def _major_version(machine: Machine) -> int | None:
    if machine.system != "darwin":
        return None
    found = _MACOS.match(_said(machine, "sw_vers", "-productVersion"))
    return int(found[1]) if found else None


def _said(machine: Machine, *words: str) -> str:
    ran = machine.run(words)
    return ran.out.strip() if ran.code == 0 else ""
