"""What is wrong with the engine itself: it does not answer, another program does, it is too old, it is slow.

Pure. Not here: its models (`model_rules.py`), their windows (`window_rules.py`).
"""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from ktms.domain.catalogue import EngineKind
from ktms.node.doctor.cause import Id
from ktms.node.doctor.facts import EngineFacts, Facts, Program, Speaks
from ktms.node.doctor.finding import Finding, finding

TITLES = {
    EngineKind.OLLAMA: "Ollama",
    EngineKind.VLLM: "vLLM",
    EngineKind.LLAMACPP: "llama.cpp",
    EngineKind.TGI: "TGI",
}

SAFE_OLLAMA = (0, 17, 1)
"""Older ones answer `/api/create` and `/api/push` with pieces of their memory to whoever reaches them."""

CONTAINERS = ("com.docke", "docker", "orbstack", "vpnkit", "limactl", "colima", "podman", "gvproxy", "containerd")
"""How programs are called that publish the ports of containers; `lsof` may cut their names."""

PROGRAMS = {
    EngineKind.OLLAMA: ("ollama",),
    EngineKind.VLLM: ("vllm", "python", "ray"),
    EngineKind.LLAMACPP: ("llama", "python"),
    EngineKind.TGI: ("text-gen", "python"),
}
"""How the programs of an engine are called, by how that begins."""

FORBIDDEN = 403

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


def title_of(kind: EngineKind) -> str:
    """Give the engine's name as people write it."""
    return TITLES.get(kind, kind.value)


def engine_findings(facts: Facts) -> Iterator[Finding]:
    """Judge the engine."""
    engine = facts.engine
    if engine is None:
        return
    if not engine.answers:
        yield _away(engine)
        return
    if _is_unsafe(engine):
        least = ".".join(map(str, SAFE_OLLAMA))
        yield finding(Id.ENGINE_UNSAFE, engine=title_of(engine.kind), version=engine.version or "?", least=least)
    if engine.is_translated:
        yield finding(Id.ROSETTA, engine=title_of(engine.kind))
    owner = engine.port.owner
    if facts.machine.system == "darwin" and owner is not None and is_container(owner):
        yield finding(Id.CONTAINER_ON_MAC, engine=title_of(engine.kind), program=owner.name)


def is_container(program: Program) -> bool:
    """Whether a program publishes ports of containers."""
    return program.name.casefold().startswith(CONTAINERS)


def _away(engine: EngineFacts) -> Finding:
    """Say why it does not answer."""
    port, says = engine.port, urlsplit(engine.url).scheme
    where = {"engine": title_of(engine.kind), "host": port.host, "port": port.number}
    if not port.is_open:
        return finding(Id.ENGINE_DOWN, **where, service=engine.service, start=engine.start)
    if port.speaks is not None and port.speaks != says:
        url = f"{port.speaks}://{port.host}:{port.number}"
        return finding(Id.ENGINE_SCHEME, says=says, speaks=_spoken(port.speaks), url=url)
    if engine.page is not None and engine.page.status == FORBIDDEN and engine.page.is_empty:
        return finding(Id.HOST_REFUSED, **where)
    if engine.other is not None:
        return finding(Id.PORT_TAKEN, **where, program=title_of(engine.other))
    if port.owner is not None and not _may_be(port.owner, engine.kind):
        return finding(Id.PORT_TAKEN, **where, program=f"{port.owner.name} (process {port.owner.pid})")
    if engine.page is None or engine.page.status >= 500:
        return finding(Id.ENGINE_SILENT, **where, service=engine.service)
    return finding(Id.PORT_TAKEN, **where, program="another program")


def _may_be(program: Program, kind: EngineKind) -> bool:
    return is_container(program) or program.name.casefold().startswith(PROGRAMS.get(kind, ()))


def _spoken(speaks: Speaks) -> str:
    return "TLS" if speaks is Speaks.TLS else "plain HTTP"


def _is_unsafe(engine: EngineFacts) -> bool:
    read = _VERSION.match(engine.version or "") if engine.kind is EngineKind.OLLAMA else None
    if read is None:
        return False
    version = tuple(map(int, read.groups()))
    return (0, 0, 0) < version < SAFE_OLLAMA  # one that was built by hand calls itself 0.0.0
