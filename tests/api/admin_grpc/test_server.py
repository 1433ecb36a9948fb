import grpc
import pytest
from grpc_health.v1 import health_pb2

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.gen.admin_pb2_grpc import AdminServiceStub
from ktms.api.admin_grpc.server import AdminPortUnusable, Listen, TlsFiles
from ktms.api.admin_grpc.tls import TlsUnusable
from ktms.api.admin_grpc.wire import MESSAGE_MAX_BYTES, SERVICE
from ktms.domain.access.actor import Role
from tests.api.admin_grpc.certificates import Certificates
from tests.api.admin_grpc.stage import Stage, Stub, ask, refusal, started


@pytest.mark.parametrize("service", ["", SERVICE])
async def test_health_answers_without_a_key(channel: grpc.aio.Channel, service: str) -> None:
    check: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
    data = await check(health_pb2.HealthCheckRequest(service=service).SerializeToString())
    answer = health_pb2.HealthCheckResponse.FromString(data)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize(
    "method",
    [
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        "/ktms.admin.v1.AdminService/Nothing",
    ],
)
async def test_reflection_and_unknown_methods_are_not_there(
    stage: Stage, channel: grpc.aio.Channel, method: str
) -> None:
    assert (await ask(channel, method, b"", stage.bearer(Role.OWNER)))[0] is grpc.StatusCode.UNIMPLEMENTED


async def test_a_message_over_the_cap_is_refused_before_it_is_parsed(stage: Stage, stub: Stub) -> None:
    request = admin_pb2.ApplyConfigRequest(document=b"x" * (MESSAGE_MAX_BYTES + 1))
    async with refusal() as seen:
        await stub.ApplyConfig(request, metadata=stage.bearer(Role.OWNER))
    assert seen[0][0] is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_metadata_over_the_cap_is_refused(stage: Stage, channel: grpc.aio.Channel) -> None:
    metadata = (*stage.bearer(Role.OWNER), ("x-large", "x" * 1_000_000))
    told = await ask(channel, f"/{SERVICE}/GetVersion", b"", metadata)
    assert told[0] is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_unknown_fields_of_a_request_are_ignored(stage: Stage, channel: grpc.aio.Channel) -> None:
    data = b"\xfa\x01\x03abc"  # field 31, three bytes
    told = await ask(channel, f"/{SERVICE}/GetVersion", data, stage.bearer(Role.OWNER))
    assert told[0] is grpc.StatusCode.OK


async def test_a_taken_port_is_refused_and_not_shared(stage: Stage) -> None:
    with pytest.raises(AdminPortUnusable, match="is it in use"):
        async with started(Listen("127.0.0.1", stage.server.port)):
            pass


async def test_plain_text_on_all_interfaces_is_refused() -> None:
    with pytest.raises(AdminPortUnusable, match="KTMS_ADMIN_ALLOW_PLAINTEXT"):
        async with started(Listen("0.0.0.0", 0)):
            pass


async def test_plain_text_that_was_allowed_is_warned_about_at_every_start() -> None:
    async with started(Listen("0.0.0.0", 0, allow_plaintext=True)) as stage:
        assert [(event.level, event.name) for event in stage.telemetry.events] == [("warning", "admin_plaintext")]


async def test_a_stopped_server_answers_no_more() -> None:
    async with started() as stage:
        pass
    async with grpc.aio.insecure_channel(stage.address) as channel:
        told = await ask(channel, f"/{SERVICE}/GetVersion", b"", stage.bearer(Role.OWNER))
        assert told[0] is grpc.StatusCode.UNAVAILABLE


async def test_stopping_twice_is_harmless() -> None:
    async with started() as stage:
        await stage.server.stop(0)


async def version(stage: Stage, credentials: grpc.ChannelCredentials) -> str:
    async with grpc.aio.secure_channel(f"localhost:{stage.server.port}", credentials) as channel:
        call = AdminServiceStub(channel).GetVersion(
            admin_pb2.GetVersionRequest(), metadata=stage.bearer(Role.VIEWER), timeout=10
        )
        return str((await call).server_version)


async def test_tls_is_served_on_all_interfaces(certificates: Certificates) -> None:
    async with started(Listen("127.0.0.1", 0, TlsFiles(certificates.cert, certificates.key))) as stage:
        credentials = grpc.ssl_channel_credentials(certificates.ca.read_bytes())
        assert await version(stage, credentials) == "1.2.3"


async def test_a_client_with_a_certificate_is_let_in_where_one_is_asked_for(certificates: Certificates) -> None:
    files = TlsFiles(certificates.cert, certificates.key, certificates.ca)
    async with started(Listen("127.0.0.1", 0, files)) as stage:
        credentials = grpc.ssl_channel_credentials(
            certificates.ca.read_bytes(),
            certificates.client_key.read_bytes(),
            certificates.client_cert.read_bytes(),
        )
        assert await version(stage, credentials) == "1.2.3"


async def test_a_client_without_a_certificate_is_refused_where_one_is_asked_for(
    certificates: Certificates,
) -> None:
    files = TlsFiles(certificates.cert, certificates.key, certificates.ca)
    async with started(Listen("127.0.0.1", 0, files)) as stage:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await version(stage, grpc.ssl_channel_credentials(certificates.ca.read_bytes()))
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_an_unusable_certificate_refuses_the_start(certificates: Certificates) -> None:
    with pytest.raises(TlsUnusable):
        async with started(Listen("127.0.0.1", 0, TlsFiles(certificates.key, certificates.key))):
            pass
