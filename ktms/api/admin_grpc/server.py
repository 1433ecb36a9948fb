"""The admin port: a grpc.aio server with the admin service and the health service.

Health answers without a key; reflection is off; a message over 4 MiB, metadata over 8 KiB and more than
RPCS_MAX calls at once are refused by the library before anything of ours runs.
Not here: what happens inside a call (`door.py`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from ktms.api.admin_grpc.door import Door, Refused
from ktms.api.admin_grpc.exposure import Refused as ExposureRefused
from ktms.api.admin_grpc.exposure import Warned, exposure
from ktms.api.admin_grpc.method import Method
from ktms.api.admin_grpc.rights import ROLE_NEEDED
from ktms.api.admin_grpc.service import AdminPorts, AdminService
from ktms.api.admin_grpc.tls import server_credentials
from ktms.api.admin_grpc.wire import MESSAGE_MAX_BYTES, SERVICE
from ktms.ports.telemetry import Telemetry

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"

METADATA_MAX_BYTES = 8 * 1024
"""An authorization line is 70 bytes; the library's history of metadata faults asks for a small cap."""

RPCS_MAX = 64
"""Operators, not clients: a flood is refused early and never reaches the database."""

OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_MAX_BYTES),
    ("grpc.max_send_message_length", MESSAGE_MAX_BYTES),
    ("grpc.max_metadata_size", METADATA_MAX_BYTES),
    ("grpc.absolute_max_metadata_size", METADATA_MAX_BYTES),
    ("grpc.so_reuseport", 0),  # a second gateway on the same port must fail, not share
)


class AdminPortUnusable(Exception):
    """The admin port cannot be opened as asked; the message says what to change."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of certificate and key; with `client_ca` clients must show a certificate."""

    cert: Path
    key: Path
    client_ca: Path | None = None


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to listen (port 0: any free one), and how."""

    host: str
    port: int
    tls: TlsFiles | None = None
    allow_plaintext: bool = False


class AdminServer:
    """Serves the admin plane between `start` and `stop`."""

    def __init__(
        self,
        listen: Listen,
        ports: AdminPorts,
        *,
        telemetry: Telemetry,
        server_version: str,
    ) -> None:
        self._listen = listen
        self._telemetry = telemetry
        self._door = Door(ports.keys, telemetry)
        self._service = AdminService(ports, server_version)
        self._server: grpc.aio.Server | None = None
        self._health = health.aio.HealthServicer()
        self.port = 0

    async def start(self) -> None:
        """Open the port; `port` then holds its number.

        Raises:
            AdminPortUnusable: plain text where it is not allowed, or the port is taken.
            TlsUnusable: the certificate or key cannot be used.
        """
        self._check_exposure()
        server = grpc.aio.server(options=OPTIONS, maximum_concurrent_rpcs=RPCS_MAX)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, self._handlers()),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        self.port = self._bind(server)
        await server.start()
        self._server = server
        for name in ("", SERVICE):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    async def stop(self, grace_s: float) -> None:
        """Refuse new calls, give running ones `grace_s` seconds, close the port. Harmless when not started."""
        if self._server is not None:
            await self._health.enter_graceful_shutdown()
            await self._server.stop(grace_s)
            self._server = None

    def _check_exposure(self) -> None:
        listen = self._listen
        judged = exposure(listen.host, tls=listen.tls is not None, allow_plaintext=listen.allow_plaintext)
        if isinstance(judged, ExposureRefused):
            raise AdminPortUnusable(judged.reason)
        if isinstance(judged, Warned):
            self._telemetry.event("warning", "admin_plaintext", reason=judged.reason)

    def _bind(self, server: grpc.aio.Server) -> int:
        listen = self._listen
        host = f"[{listen.host}]" if ":" in listen.host else listen.host
        address = f"{host}:{listen.port}"
        try:
            if listen.tls is None:
                return server.add_insecure_port(address)
            files = listen.tls
            return server.add_secure_port(address, server_credentials(files.cert, files.key, files.client_ca))
        except RuntimeError as error:
            raise AdminPortUnusable(f"the admin port {address} cannot be opened: is it in use?") from error

    def _handlers(self) -> dict[str, "grpc.RpcMethodHandler[bytes, bytes]"]:
        methods = self._service.methods()
        assert methods.keys() == ROLE_NEEDED.keys(), "every method has a role"
        return {
            name: grpc.unary_unary_rpc_method_handler(self._behaviour(name, method))
            for name, method in methods.items()
        }

    def _behaviour(self, name: str, method: Method) -> Callable[[bytes, Context], Awaitable[bytes]]:
        """Without a deserializer the library hands over the bytes: they are parsed after the key was checked."""

        async def behaviour(data: bytes, context: Context) -> bytes:
            try:
                return await self._door.answer(name, method, tuple(context.invocation_metadata() or ()), data)
            except Refused as refused:
                await context.abort(refused.code, refused.details)

        return behaviour
