"""The code of our gRPC protocols: as it is committed, and as its .proto file gives it now."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import ktms

ROOT = Path(ktms.__file__).parent.parent


@dataclass(frozen=True, slots=True)
class GeneratedCode:
    """The protocol `ktms.<name>.v1` lies in the `proto` of its room, its code in the `gen` of it."""

    room: str
    name: str

    @property
    def names(self) -> tuple[str, ...]:
        """The files that come out of it."""
        return tuple(f"{self.name}_pb2{ending}" for ending in (".py", ".pyi", "_grpc.py", "_grpc.pyi"))

    def committed(self, name: str) -> str:
        return (ROOT / self.room / "gen" / name).read_text()

    def all_committed(self) -> set[str]:
        return {path.name for path in (ROOT / self.room / "gen").iterdir() if path.is_file()}

    def generate(self, out: Path) -> Path:
        """Run the command of `make proto`, but for where its output goes; give the folder of the files."""
        folder, proto = f"{self.room}/gen", ROOT / self.room / f"proto/ktms/{self.name}/v1"
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}={proto}"]
        command += [f"--python_out={out}", f"--grpc_python_out={out}"]
        command += [f"--mypy_out=quiet:{out}", f"--mypy_grpc_out=quiet:{out}", f"{folder}/{self.name}.proto"]
        plugins = str(Path(sys.executable).parent)  # protoc finds its plugins by name
        subprocess.run(command, check=True, env={"PATH": plugins}, timeout=60)
        return out / folder
