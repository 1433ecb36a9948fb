"""Real parts, put together as a user puts them together: `ktms` processes, llama.cpp, a cloud vendor, SDKs.

`gateway` is one `ktms up --config` with llama.cpp in front and the mock vendor behind, shared by all tests that
only ask it something. Whoever stops, breaks or configures a gateway starts one of its own in a `new_home`.
"""

import asyncio
import itertools
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from ktms.adapters.embedded.postgres_server import EmbeddedPostgres
from tests.e2e import declared
from tests.e2e.cloud import Cloud, cloud
from tests.e2e.embedding_engine import embedding_engine
from tests.e2e.engine.fixtures import llama_server
from tests.e2e.engine.llama_process import LlamaServer, model_file
from tests.e2e.engine.llama_process import llama_server as run_llama_server
from tests.e2e.ports import any_port, listens
from tests.e2e.up_process import Home, Up, up
from tests.e2e.waiting import until
from tests.world.events import VENDOR_MODEL

__all__ = ["llama_server"]

NewHome = Callable[[], Home]
NewDatabase = Callable[[], str]


@dataclass(frozen=True)
class Gateway:
    """A running gateway and what stands around it. `fragile` may be broken by one test."""

    up: Up
    llama: LlamaServer
    embedder: LlamaServer
    fragile: LlamaServer
    cloud: Cloud

    @property
    def url(self) -> str:
        """Where it answers, without `/v1`."""
        return self.up.url

    @property
    def key(self) -> str:
        """A client key that may use everything."""
        return declared.APP_KEY

    def kill_fragile(self) -> None:
        """Let the machine of the fragile model lose its power."""
        os.kill(self.fragile.pid, signal.SIGKILL)
        until(lambda: not listens(self.fragile.port), "the port of a dead engine refuses")


@pytest.fixture(scope="session")
def new_home(server_folder: Path) -> NewHome:
    """Makes homes of users who have never started ktms."""
    numbers = itertools.count(1)

    def make() -> Home:
        folder = server_folder / f"home-{next(numbers)}"
        folder.mkdir(mode=0o711)
        return Home(folder)

    return make


@pytest.fixture(scope="session")
def new_database(postgres_server: EmbeddedPostgres) -> NewDatabase:
    """Makes empty databases on the session's Postgres; gives their addresses."""
    numbers = itertools.count(1)

    async def create(name: str) -> None:
        connection = await asyncpg.connect(postgres_server.dsn)
        try:
            await connection.execute(f'create database "{name}"')
        finally:
            await connection.close()

    def make() -> str:
        name = f"served_{next(numbers)}"
        asyncio.run(create(name))
        return postgres_server.dsn_of(name)

    return make


@pytest.fixture(scope="session")
def vendor_cloud() -> Iterator[Cloud]:
    with cloud() as running:
        yield running


@pytest.fixture(scope="session")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    with embedding_engine(model_file(), tmp_path_factory.mktemp("embedder") / "server.log") as server:
        yield server


@pytest.fixture(scope="session")
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    with run_llama_server(model_file(), tmp_path_factory.mktemp("fragile") / "server.log") as server:
        yield server


@pytest.fixture(scope="session")
def gateway(
    new_home: NewHome,
    llama_server: LlamaServer,
    embedder: LlamaServer,
    fragile: LlamaServer,
    vendor_cloud: Cloud,
) -> Iterator[Gateway]:
    home = new_home()
    cloud_target = ("cloud", VENDOR_MODEL)
    fragile_node = {**declared.node("fragile", fragile), "models": [{"name": "fragile-model"}]}
    config = declared.write_gateway(
        home.folder / "gateway.yaml",
        vendors=[declared.vendor(vendor_cloud.url)],
        nodes=[declared.node("engine-1", llama_server), declared.node("engine-2", embedder), fragile_node],
        models=[
            declared.model(declared.HOUSE, ("local", llama_server.model), cloud_target, aliases=(declared.ALIAS,)),
            declared.model(declared.EMBEDDER, ("local", embedder.model)),
            declared.model(declared.FRAGILE, ("local", "fragile-model"), cloud_target),
            declared.cloud_model(),
        ],
        client_keys=[
            declared.client_key("app", declared.APP_KEY),
            declared.client_key("narrow", declared.NARROW_KEY, [declared.CLOUD]),
        ],
    )
    with up(home, "--config", config, "--port", str(any_port())) as running:
        yield Gateway(running, llama_server, embedder, fragile, vendor_cloud)
