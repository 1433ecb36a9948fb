"""Folders and running servers of this folder's own tests; nothing here is shared with the session's servers."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ktms.adapters.embedded.postgres_server import EmbeddedPostgres
from ktms.adapters.embedded.valkey_server import EmbeddedValkey
from ktms.ports.entropy import Entropy

ROOT = Path(__file__).parents[3]

HOST = """
    import asyncio, os, sys
    from pathlib import Path
    sys.path[:0] = {paths!r}
    from ktms.adapters.embedded.postgres_server import EmbeddedPostgres
    from ktms.adapters.embedded.valkey_server import EmbeddedValkey

    class Entropy:
        def token_bytes(self, count):
            return os.urandom(count)
        def uniform(self, low, high):
            return low

    async def main(folder):
        async with EmbeddedPostgres(folder, entropy=Entropy(), durable=False) as postgres:
            async with EmbeddedValkey(folder, entropy=Entropy()) as valkey:
                print(os.getuid(), postgres.pid, postgres.port, valkey.pid, valkey.port, flush=True)
                await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

    asyncio.run(main(Path(sys.argv[1])))
"""


class FirstEntropy:
    """One password for all copies."""

    def token_bytes(self, count: int) -> bytes:
        return bytes(range(count))

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) / 2


@pytest.fixture
def open_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ktms-embedded-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def first_start() -> Iterator[Path]:
    """What a first start leaves behind; copied, as making it takes a second."""
    folder = Path(tempfile.mkdtemp(prefix="ktms-embedded-"))
    folder.chmod(0o711)
    server = EmbeddedPostgres(folder, entropy=FirstEntropy(), durable=False)
    with asyncio.Runner() as runner:
        runner.run(server.__aenter__())
        runner.run(server.__aexit__(None, None, None))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def kept_folder(open_folder: Path, first_start: Path) -> Path:
    """A folder in which Postgres ran before; owners are kept."""
    subprocess.run(["cp", "-a", f"{first_start}/.", str(open_folder)], check=True)
    return open_folder


@pytest.fixture
def running_folder(kept_folder: Path) -> Path:
    return kept_folder


@pytest.fixture
async def running_postgres(running_folder: Path, entropy: Entropy) -> AsyncIterator[EmbeddedPostgres]:
    async with EmbeddedPostgres(running_folder, entropy=entropy, durable=False) as server:
        yield server


@pytest.fixture
async def running_valkey(open_folder: Path, entropy: Entropy) -> AsyncIterator[EmbeddedValkey]:
    async with EmbeddedValkey(open_folder, entropy=entropy) as server:
        yield server


@pytest.fixture
def host_program() -> str:
    """A program that runs both servers on its first argument until its input ends, and prints their numbers."""
    packages = next(entry for entry in sys.path if entry.endswith("site-packages"))
    return textwrap.dedent(HOST.format(paths=[str(ROOT), packages]))
