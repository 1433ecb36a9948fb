"""What a cause is, and the names of all that the doctor tells apart.

Not here: their words and what each hides (`causes.py`).
"""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Weight(IntEnum):
    """How much a cause matters, as the exit code says it."""

    REMARK = 0
    STOPS = 1
    WARNS = 2


class Id(StrEnum):
    """One cause. Names are for scripts, so they stay."""

    SETTINGS_UNUSABLE = "settings-unusable"
    DISK_FULL = "disk-full"
    ENGINE_DOWN = "engine-down"
    ENGINE_SILENT = "engine-silent"
    PORT_TAKEN = "port-taken"
    ENGINE_SCHEME = "engine-scheme"
    HOST_REFUSED = "host-refused"
    ENGINE_UNSAFE = "engine-unsafe"
    MODEL_MISSING = "model-missing"
    MODEL_NAME = "model-name"
    MODEL_CLOUD = "model-cloud"
    MODEL_NO_CHAT = "model-no-chat"
    MODEL_TOO_LARGE = "model-too-large"
    AGENT_DOWN = "agent-down"
    AGENT_PORT_TAKEN = "agent-port-taken"
    SUPERSEDED = "superseded"
    WRONG_TLS = "wrong-tls"
    CLOCK_SKEW = "clock-skew"
    GATEWAY_AWAY = "gateway-away"
    GATEWAY_OTHER = "gateway-other"
    KEY_REFUSED = "key-refused"
    ANNOUNCEMENT_REFUSED = "announcement-refused"
    MODEL_FORBIDDEN = "model-forbidden"
    UDP_BLOCKED = "udp-blocked"
    TUNNEL_DOWN = "tunnel-down"
    TUNNEL_ORIGIN = "tunnel-origin"
    NOT_REACHED = "not-reached"
    MODEL_COLD = "model-cold"
    MODEL_LOADING = "model-loading"
    ROSETTA = "rosetta"
    CONTAINER_ON_MAC = "container-on-mac"
    GPU_LOST = "gpu-lost"
    SPLIT_LOAD = "split-load"
    ON_CPU = "on-cpu"
    WINDOW_MODELFILE = "window-modelfile"
    WINDOW_ENVIRONMENT = "window-environment"
    WINDOW_GPU_MEMORY = "window-gpu-memory"
    WINDOW_LOWERED = "window-lowered"
    WINDOW_SHARED = "window-shared"
    SLOTS_FEWER = "slots-fewer"
    TUNNEL_OVER_TCP = "tunnel-over-tcp"
    SERVICE_OFF = "service-off"
    NO_LINGER = "no-linger"
    SLEEPS = "sleeps"
    LOGIN_NEEDED = "login-needed"
    FOREGROUND = "foreground"


@dataclass(frozen=True, slots=True)
class Cause:
    """One row. `title` and `remedy` hold {places} that a finding fills.

    `after`: causes it would be a mere symptom of; where one of them is found, this one is not told.
    """

    id: Id
    weight: Weight
    title: str
    remedy: str
    after: frozenset[Id] = frozenset()
