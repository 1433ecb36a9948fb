"""All that the doctor knows before it judges. What is None is not known, and nobody is accused for it.

Shapes only. Not here: how it is found out (`gather.py` and its neighbours), what follows from it (`judge.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ktms.domain.catalogue import EngineKind
from ktms.node.engines.ollama_window import Serving
from ktms.node.settings import NodeSettings


class Speaks(StrEnum):
    """What a port speaks, as schemes call it."""

    PLAIN = "http"
    TLS = "https"


@dataclass(frozen=True, slots=True)
class Program:
    """A running program; `name` without its folders."""

    pid: int
    name: str


@dataclass(frozen=True, slots=True)
class Port:
    """A port somebody should listen at; `owner` is known for programs of this user only."""

    host: str
    number: int
    is_open: bool = False
    speaks: Speaks | None = None
    owner: Program | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """What came back from a page that the doctor knows; `is_ours`: it bears the mark of our own program."""

    status: int
    is_empty: bool = False
    is_ours: bool = False


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A model as its engine lists it, stubs included. `remote`: whose cloud answers in its place."""

    name: str
    size_bytes: int | None = None
    remote: str | None = None
    can_chat: bool = True
    is_alone: bool = False


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that this node serves; windows in tokens.

    `window`: what a call gets; `in_memory`: what `/api/ps` tells of it; `asked`, `trained`, `modelfile`: see
    `ollama_window.py`.
    """

    name: str
    loaded: bool | None = None
    is_loading: bool = False
    on_gpu: float | None = None
    window: int | None = None
    in_memory: int | None = None
    modelfile: int | None = None
    trained: int | None = None


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """The engine. `answers`: it is there and of its kind; `other`: which one is there instead.

    `service`: what is known of whoever should run it, in words; `is_translated`: it runs under Rosetta;
    `shares_window`: a llama.cpp whose slots have one window together.
    """

    kind: EngineKind
    url: str
    port: Port
    page: Page | None = None
    answers: bool = False
    other: EngineKind | None = None
    version: str | None = None
    slots: int | None = None
    disk: tuple[OnDisk, ...] = ()
    models: tuple[ServedModel, ...] = ()
    service: str = ""
    start: str = ""
    is_translated: bool | None = None
    shares_window: bool = False
    serving: Serving = field(default_factory=Serving)


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """The agent as its status file and the list of processes tell; `said_last`: the last line of its log."""

    alive: bool
    pid: int | None = None
    said_last: str | None = None


@dataclass(frozen=True, slots=True)
class GatewayFacts:
    """The gateway. `why_not`: it is not reached, in words; `ahead_s`: how far our clock is ahead of its.

    `key`: the status of an announcement, `message` its words. `announced`: the same, where it said what the agent
    says; `not_asked`: why it did not. `verified`: it dialled back and a token came, `reason` why not. `ignored`:
    models of the settings that the key does not permit.
    """

    why_not: str | None = None
    ahead_s: float | None = None
    key: int | None = None
    message: str = ""
    announced: int | None = None
    verified: bool | None = None
    reason: str = ""
    ignored: tuple[str, ...] = ()
    not_asked: str = ""


@dataclass(frozen=True, slots=True)
class TunnelFacts:
    """The cloudflared child. `origin`: what its public address answers; `udp`, `tcp`: the way to its edge."""

    runs: bool
    connections: int | None = None
    is_over_tcp: bool = False
    udp: bool | None = None
    tcp: bool | None = None
    url: str | None = None
    origin: Page | None = None


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """What keeps the agent running. `why_none`: this machine has nothing that would, and why.

    `last_exit`: the code the agent ended with; `sleep_prevented` None: this machine has no say in it.
    """

    why_none: str | None = None
    is_enabled: bool | None = None
    last_exit: int | None = None
    start: str = ""
    lingers: bool | None = None
    sleep_prevented: bool | None = None
    is_encrypted: bool | None = None


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system that the node needs."""

    mounted: str
    free_bytes: int


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """The machine. `memory_bytes` in all, `free_bytes` of it; `suspends` since its start.

    `user`: whose node it is; `wishes`: variables of the engine that are set in this shell.
    """

    system: str
    user: str = ""
    memory_bytes: int | None = None
    free_bytes: int | None = None
    gpu_bytes: int | None = None
    suspends: int | None = None
    disks: tuple[Disk, ...] = ()
    wishes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it. `unusable`: why there are no settings; then nothing but the machine is known."""

    machine: MachineFacts
    unusable: str | None = None
    settings: NodeSettings | None = None
    agent: AgentFacts | None = None
    filter: Port | None = None
    public: Port | None = None
    engine: EngineFacts | None = None
    gateway: GatewayFacts | None = None
    tunnel: TunnelFacts | None = None
    service: ServiceFacts | None = None
