"""The terminal as a fixture."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.admin_grpc.certificates import Certificates, make_certificates
from tests.api.admin_grpc.stage import started
from tests.app.cli.terminal import Terminal


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    async with started() as stage:
        yield Terminal(stage, tmp_path)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))
