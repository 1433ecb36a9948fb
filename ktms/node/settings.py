"""What the installer decided for this node, as it lies in `~/.ktms/node.json` (mode 0600).

Not here: reading and writing the file (`settings_file.py`), where else things lie (`home.py`).
"""

from dataclasses import dataclass
from enum import StrEnum

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind

LISTEN_PORT = 8790
"""Where the filter listens unless told otherwise; no engine has it by default."""

DRAIN_S = 30.0
"""What running answers get after SIGTERM."""


class Tls(StrEnum):
    """How the gateway reaches the filter: in plain text, by TLS with a pinned certificate, or with any."""

    OFF = "off"
    ON = "on"
    INSECURE = "insecure"


class Tunnel(StrEnum):
    """The cloudflared child: none, one with a random name for trials, one with a token of its own."""

    NONE = "none"
    QUICK = "quick"
    NAMED = "named"


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """One node. `public_url` None: the tunnel's, else the address of this machine that leads to the gateway.

    `models` empty: all that the engine has. `slots` None: as the engine says.
    """

    gateway: str
    node_key: Secret
    node_token: Secret
    engine: EngineKind
    engine_url: str
    models: tuple[str, ...] = ()
    listen_host: str = "127.0.0.1"
    listen_port: int = LISTEN_PORT
    public_url: str | None = None
    tls: Tls = Tls.OFF
    tunnel: Tunnel = Tunnel.NONE
    tunnel_token_file: str | None = None
    slots: int | None = None
    drain_s: float = DRAIN_S
