"""The fixture of the real engine; any conftest may import it."""

from collections.abc import Iterator

import pytest

from tests.e2e.engine.llama_process import LlamaServer, model_file
from tests.e2e.engine.llama_process import llama_server as run_llama_server


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """A real llama.cpp server; fails, never skips, when there is none."""
    log = tmp_path_factory.mktemp("llama") / "server.log"
    with run_llama_server(model_file(), log) as server:
        yield server
