from pathlib import Path

import grpc
import pytest

from ktms.api.admin_grpc.gen.admin_pb2 import ListClientKeysRequest
from ktms.api.admin_grpc.gen.admin_pb2_grpc import AdminServiceStub
from ktms.app.admin_port import admin_port
from ktms.app.failed import StartFailed
from ktms.app.production import Production
from ktms.config.address import Address
from ktms.config.port_tls import PortTls
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.capacity.fleet_status import FleetStatus
from tests.api.admin_grpc.stage import Stub
from tests.e2e.ports import any_port, listens, occupied

pytestmark = pytest.mark.service

LOOPBACK = "127.0.0.1"


def no_fleet() -> FleetStatus:
    return FleetStatus(known=True)


async def test_it_serves_the_stores_of_its_gateway_inside_the_block(real: Production) -> None:
    token = make_key(KeyKind.ADMIN, real.entropy.token_bytes)
    assert await real.keys.bootstrap(token)
    bearer = (("authorization", f"Bearer {token}"),)
    async with admin_port(real, Address(LOOPBACK, any_port()), no_fleet) as port:
        assert listens(port)
        async with grpc.aio.insecure_channel(f"{LOOPBACK}:{port}") as channel:
            stub: Stub = AdminServiceStub(channel)
            answer = await stub.ListClientKeys(ListClientKeysRequest(), metadata=bearer)
    assert list(answer.keys) == []
    assert not listens(port)


async def test_a_taken_port_is_told_in_one_line(real: Production) -> None:
    with occupied() as port, pytest.raises(StartFailed, match=str(port)):
        async with admin_port(real, Address(LOOPBACK, port), no_fleet):
            pass


async def test_an_open_port_in_plain_text_is_refused(real: Production) -> None:
    with pytest.raises(StartFailed, match="TLS"):
        async with admin_port(real, Address("0.0.0.0", any_port()), no_fleet):
            pass


async def test_certificates_that_are_not_there_are_named(real: Production, tmp_path: Path) -> None:
    tls = PortTls(tmp_path / "no.crt", tmp_path / "no.key")
    with pytest.raises(StartFailed, match=r"cannot read .*/no\.(crt|key): No such file"):
        async with admin_port(real, Address(LOOPBACK, any_port()), no_fleet, tls=tls):
            pass
