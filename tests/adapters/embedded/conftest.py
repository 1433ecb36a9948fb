"""Folders and running servers of this folder's own tests; nothing here is shared with the session's servers."""

import shutil
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


@pytest.fixture
def open_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ktms-embedded-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def running_folder(open_folder: Path) -> Path:
    return open_folder


@pytest.fixture
async def running_postgres(running_folder: Path, entropy: Entropy) -> AsyncIterator[EmbeddedPostgres]:
    async with EmbeddedPostgres(running_folder, entropy=entropy, durable=False) as server:
        yield server


@pytest.fixture
async def running_valkey(running_folder: Path, entropy: Entropy) -> AsyncIterator[EmbeddedValkey]:
    async with EmbeddedValkey(running_folder, entropy=entropy) as server:
        yield server


@pytest.fixture
def host_program() -> str:
    """A program that runs both servers on its first argument until its input ends, and prints their numbers."""
    packages = next(entry for entry in sys.path if entry.endswith("site-packages"))
    return textwrap.dedent(HOST.format(paths=[str(ROOT), packages]))
