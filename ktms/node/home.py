"""Where the agent of this user keeps things: one folder, so that an uninstall leaves nothing behind.

Not here: what is in the files (`settings_file.py`), services of the system, which want their files elsewhere
(`service/`).
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = ".ktms"

OURS = ("node.json", "node.crt", "node.key", "status.json", "status.new", "logs", "venv", "programs", "engine")
"""What lies in a folder that was named with --home, which may hold other things as well."""


@dataclass(frozen=True, slots=True)
class NodeHome:
    """The folder `~/.ktms` and what lies in it."""

    folder: Path

    def not_ours(self) -> tuple[str, ...]:
        """Give what lies where things of ours would, and is somebody else's.

        Before there are settings an earlier run may have left something, but then nothing else lies beside it.
        """
        try:
            names = {one.name for one in self.folder.iterdir()}
        except OSError:
            return ()
        return () if self.settings.name in names or names <= set(OURS) else tuple(sorted(names & set(OURS)))

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
