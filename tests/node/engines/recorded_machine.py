"""A machine whose commands say what was recorded; what was not recorded does not exist there."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ktms.node.engines.processes import PS
from ktms.node.machine import RUN_S, Ran

OLLAMA_PID = 4711


class RecordedMachine:
    """`says` maps command lines to outputs, or to whole endings; `files` paths to texts."""

    def __init__(self, system: str = "linux", **files: str) -> None:
        self.system = system
        self.variables: Mapping[str, str] = {}
        self.says: dict[str, str | Ran] = {}
        self.files: dict[str, str] = dict(files)
        self.ran: list[str] = []

    def run(self, words: Sequence[str], within_s: float = RUN_S, stdin: str = "") -> Ran:  # noqa: ARG002
        line = " ".join(words)
        self.ran.append(line)
        said = self.says.get(line, Ran(127))
        return said if isinstance(said, Ran) else Ran(0, said)

    def read(self, path: Path) -> str | None:
        return self.files.get(str(path))

    def write(self, path: Path, text: str, mode: int = 0o644) -> None:  # noqa: ARG002
        raise AssertionError(f"a look writes {path}")

    def runs(self, *lines: str) -> None:
        """Have these processes, each `pid parent command`."""
        self.says[" ".join(PS)] = "\n".join(("    1     0 /sbin/init", *lines)) + "\n"

    def runs_ollama(self, *children: str, env: str | None = "HOME=/home/u\0") -> None:
        """Have `ollama serve` and its children; `env` None: it is another user's."""
        serve = f"{OLLAMA_PID} 1 /usr/local/bin/ollama serve"
        self.runs(serve, *(f"{5000 + at} {OLLAMA_PID} {child}" for at, child in enumerate(children)))
        if env is not None:
            self.files[f"/proc/{OLLAMA_PID}/environ"] = env


def child(port: int, slots: int = 4, blob: str = "ab" * 32) -> str:
    """The command line of the child that serves a model."""
    return (
        f"/usr/local/lib/ollama/llama-server --model /home/u/.ollama/models/blobs/sha256-{blob} --port {port} "
        f"--host 127.0.0.1 --no-webui --offline -c {4096 * slots} -np {slots} --jinja"
    )
