"""What the health service of a gRPC server says, by its bytes."""

import grpc
from grpc_health.v1 import health_pb2

CHECK = "/grpc.health.v1.Health/Check"


WATCH = "/grpc.health.v1.Health/Watch"


async def until_health(address: str, wanted: int) -> None:
    """Wait until a server, which may not be there yet, says this of itself."""
    async with grpc.aio.insecure_channel(address) as channel:
        watch: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(WATCH)
        told = watch(health_pb2.HealthCheckRequest().SerializeToString(), wait_for_ready=True)
        async for data in told:
            if health_pb2.HealthCheckResponse.FromString(data).status == wanted:
                told.cancel()
                return


async def health_of(channel: grpc.aio.Channel, service: str = "") -> int:
    """Ask for the status."""
    check: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(CHECK)
    asked = health_pb2.HealthCheckRequest(service=service).SerializeToString()
    answer = health_pb2.HealthCheckResponse.FromString(await check(asked))
    return int(answer.status)
