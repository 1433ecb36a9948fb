"""The steps of an installation, as values: what each does, and the line that says so before it is done.

No line shows a secret. Not here: which are needed (`plan.py`), doing them (`carry_out.py`).
"""

from dataclasses import dataclass
from pathlib import Path

from ktms.node.install.pins import Pin
from ktms.node.service.background import Background
from ktms.node.settings import NodeSettings


@dataclass(frozen=True, slots=True)
class Note:
    """Nothing is done; the owner should know."""

    line: str


@dataclass(frozen=True, slots=True)
class InstallProgram:
    """Fetch a pinned file, compare its hash, unpack it into a folder."""

    pin: Pin
    folder: Path

    @property
    def line(self) -> str:
        """Say it."""
        pin = self.pin
        return f"install {pin.name} {pin.version} in {self.folder}, from {pin.url} (SHA-256 {pin.sha256[:12]}…)"


@dataclass(frozen=True, slots=True)
class InstallAgent:
    """Make the agent's Python environment, its packages and the agent in it."""

    python: str
    environment: Path
    wheel: Path
    wheel_sha256: str
    mark: Path

    @property
    def line(self) -> str:
        """Say it."""
        return f"install the agent in {self.environment}, with {self.python} and packages pinned by hash"


@dataclass(frozen=True, slots=True)
class MakeCertificate:
    """Make key and certificate of the filter."""

    certificate: Path
    key: Path
    address: str

    @property
    def line(self) -> str:
        """Say it."""
        return f"make a certificate for {self.address} in {self.certificate}"


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """Write what was decided, for this user alone."""

    path: Path
    settings: NodeSettings

    @property
    def line(self) -> str:
        """Say it."""
        one = self.settings
        models = ", ".join(one.models) or "all models"
        return f"write {self.path}: {one.engine.value} at {one.engine_url}, {models}, for {one.gateway}"


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Write a file of a service."""

    path: Path
    text: str

    @property
    def line(self) -> str:
        """Say it."""
        return f"write {self.path}"


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove files and folders of ours, and folders above them that are empty then, up to one that stays."""

    paths: tuple[Path, ...]
    below: Path

    @property
    def line(self) -> str:
        """Say it."""
        return f"remove {', '.join(map(str, self.paths))}"


@dataclass(frozen=True, slots=True)
class Linger:
    """Have the programs of this user run without anybody logged in."""

    user: str

    @property
    def line(self) -> str:
        """Say it."""
        return f"have the programs of {self.user} outlive the logout: loginctl enable-linger {self.user}"


@dataclass(frozen=True, slots=True)
class StartService:
    """Start a program in the background, or start it again."""

    program: Background
    path: Path

    @property
    def line(self) -> str:
        """Say it."""
        return f"start in the background: {' '.join(self.program.words)}"


@dataclass(frozen=True, slots=True)
class StopService:
    """End a program in the background and have it started no more."""

    name: str
    stops_in_s: int

    @property
    def line(self) -> str:
        """Say it."""
        return f"stop ktms {self.name} in the background"


@dataclass(frozen=True, slots=True)
class Hold:
    """Run a program as long as the installer runs: there is no background here."""

    program: Background

    @property
    def line(self) -> str:
        """Say it."""
        return f"run while this runs: {' '.join(self.program.words)}"


@dataclass(frozen=True, slots=True)
class AwaitEngine:
    """Wait until an engine that was started answers."""

    url: str

    @property
    def line(self) -> str:
        """Say it."""
        return f"wait until the engine answers at {self.url}"


@dataclass(frozen=True, slots=True)
class PullModel:
    """Have Ollama fetch a model."""

    url: str
    model: str

    @property
    def line(self) -> str:
        """Say it."""
        return f"pull {self.model} with Ollama at {self.url}"


@dataclass(frozen=True, slots=True)
class AwaitAnnounced:
    """Wait until the gateway has taken the agent's announcement."""

    status: Path
    within_s: float

    @property
    def line(self) -> str:
        """Say it."""
        return "wait until the gateway knows the node"


@dataclass(frozen=True, slots=True)
class Verify:
    """Have the gateway dial back with a real call for one token."""

    program: Path
    home: Path

    @property
    def line(self) -> str:
        """Say it."""
        return "have the gateway call the node once"


@dataclass(frozen=True, slots=True)
class StayWith:
    """Stay until the agent that runs in the foreground has ended."""

    @property
    def line(self) -> str:
        """Say it."""
        return "stay until the agent is told to stop"


Action = (
    Note
    | InstallProgram
    | InstallAgent
    | MakeCertificate
    | WriteSettings
    | WriteFile
    | Remove
    | Linger
    | StartService
    | StopService
    | Hold
    | AwaitEngine
    | PullModel
    | AwaitAnnounced
    | Verify
    | StayWith
)
