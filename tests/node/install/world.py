"""Facts of machines as a plan gets them, without asking any."""

from collections.abc import Mapping
from pathlib import Path

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.home import NodeHome
from ktms.node.install.engines_here import EngineHere
from ktms.node.install.facts import Facts, Manager, ServiceHere
from ktms.node.install.options import Asked
from ktms.node.service.background import NODE, OLLAMA

USER_HOME = Path("/home/anna")
HOME = NodeHome(USER_HOME / ".ktms")
MAC_USER_HOME = Path("/Users/anna")
MAC_HOME = NodeHome(MAC_USER_HOME / ".ktms")

GATEWAY = "https://gateway.example"
KEY, TOKEN = "ktms_node_canary-node-key", "canary-new-node-token"
WHEEL, WHEEL_SHA256 = Path("/work/ktms_node-1.whl"), "cd" * 32

RUNNING = EngineHere(EngineKind.OLLAMA, "http://127.0.0.1:11434", "0.33.0", ("qwen3:4b", "llama3:latest"))
NO_SERVICES: Mapping[str, ServiceHere] = {NODE: ServiceHere(), OLLAMA: ServiceHere()}


def linux_facts(**members: object) -> Facts:
    """Give a Linux with systemd and a running Ollama; `members` in place of the usual ones."""
    usual: dict[str, object] = {
        "system": "linux",
        "cpu": "amd64",
        "user": "anna",
        "uid": 501,
        "user_home": USER_HOME,
        "home": HOME,
        "python": "/usr/bin/python3.12",
        "new_token": Secret(TOKEN),
        "engines": (RUNNING,),
        "programs": {"openssl": "/usr/bin/openssl", "zstd": "/usr/bin/zstd"},
        "manager": Manager.SYSTEMD,
        "systemctl": ("systemctl", "--user"),
        "services": NO_SERVICES,
        "wheel": WHEEL,
        "wheel_sha256": WHEEL_SHA256,
        "address": "10.0.0.7",
        "free_bytes": 1 << 40,
        "unpacks_zstd": True,
    }
    return Facts(**(usual | members))  # type: ignore[arg-type]  # the test names members


def mac_facts(**members: object) -> Facts:
    """Give a Mac with Apple silicon and a running Ollama."""
    usual: dict[str, object] = {
        "system": "darwin",
        "cpu": "arm64",
        "user_home": MAC_USER_HOME,
        "home": MAC_HOME,
        "manager": Manager.LAUNCHD,
        "major_version": 15,
    }
    return linux_facts(**(usual | members))


def asked(home: NodeHome = HOME, *, bare: bool = False, **members: object) -> Asked:
    """Give what an owner asks for: gateway, key and one model, unless it is `bare`, and `members`."""
    usual: dict[str, object] = (
        {} if bare else {"gateway": GATEWAY, "node_key": Secret(KEY), "models": ("qwen3:4b",)}
    )
    direct = {name: members.pop(name) for name in tuple(members) if name in Asked.__dataclass_fields__}
    return Asked(home, usual | members, **direct)  # type: ignore[arg-type]  # the test names members
