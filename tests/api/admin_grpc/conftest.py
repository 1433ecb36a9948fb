"""The stage as fixtures."""

from collections.abc import AsyncIterator

import grpc
import pytest

from ktms.api.admin_grpc.gen.admin_pb2_grpc import AdminServiceStub
from tests.api.admin_grpc.certificates import Certificates, make_certificates
from tests.api.admin_grpc.stage import Stage, Stub, started


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with started() as on:
        yield on


@pytest.fixture
async def channel(stage: Stage) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(stage.address) as opened:
        yield opened


@pytest.fixture
def stub(channel: grpc.aio.Channel) -> Stub:
    return AdminServiceStub(channel)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))
