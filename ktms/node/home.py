"""Where the agent of this user keeps things: one folder, so that an uninstall leaves nothing behind.

Not here: what is in the files (`settings_file.py`), services of the system, which want their files elsewhere
(`service/`).
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = ".ktms"


@dataclass(frozen=True, slots=True)
class NodeHome:
    """The folder `~/.ktms` and what lies in it."""

    folder: Path

    @property
    def settings(self) -> Path:
        """What the installer decided, with the node key and the node token: mode 0600."""
        return self.folder / "node.json"

    @property
    def certificate(self) -> Path:
        """The filter's certificate."""
        return self.folder / "node.crt"

    @property
    def certificate_key(self) -> Path:
        """Its private key: mode 0600."""
        return self.folder / "node.key"

    @property
    def log(self) -> Path:
        """What the agent says."""
        return self.folder / "logs" / "agent.log"

    @property
    def status(self) -> Path:
        """What the running agent knows, for `ktms-node status` and the doctor."""
        return self.folder / "status.json"

    @property
    def environment(self) -> Path:
        """The Python environment of the agent."""
        return self.folder / "venv"

    @property
    def programs(self) -> Path:
        """What the installer unpacked: Ollama, cloudflared, Python."""
        return self.folder / "programs"
