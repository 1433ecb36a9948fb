import subprocess
import sys
from pathlib import Path

import pytest

from ktms.adapters.grpc.gen import ledger_pb2

GENERATED = Path(ledger_pb2.__file__).parent
PROTO = GENERATED.parent / "proto/ktms/ledger/v1"
FOLDER = "ktms/adapters/grpc/gen"


def generate(out: Path) -> None:
    """Run the command of `make proto`, but for where its output goes."""
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{FOLDER}={PROTO}"]
    command += [f"--python_out={out}", f"--grpc_python_out={out}"]
    command += [f"--mypy_out=quiet:{out}", f"--mypy_grpc_out=quiet:{out}", f"{FOLDER}/ledger.proto"]
    plugins = str(Path(sys.executable).parent)  # protoc finds its plugins by name
    subprocess.run(command, check=True, env={"PATH": plugins}, timeout=60)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("proto")
    generate(out)
    return out / FOLDER


@pytest.mark.parametrize("name", ["ledger_pb2.py", "ledger_pb2.pyi", "ledger_pb2_grpc.py", "ledger_pb2_grpc.pyi"])
def test_the_committed_code_is_what_the_protocol_gives(fresh: Path, name: str) -> None:
    assert (GENERATED / name).read_text() == (fresh / name).read_text(), "run: make proto"


def test_nothing_else_is_committed_as_generated() -> None:
    known = {"__init__.py", "ledger_pb2.py", "ledger_pb2.pyi", "ledger_pb2_grpc.py", "ledger_pb2_grpc.pyi"}
    assert {path.name for path in GENERATED.iterdir() if path.is_file()} == known
