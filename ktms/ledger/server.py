"""The port of the accounting service: a grpc.aio server with its methods and the health service.

Health says whether the database answers; a message over 4 MiB and more than RPCS_MAX calls at once are refused by
the library before anything of ours runs. Plain text stays on this machine unless the operator says otherwise.
Not here: what the methods do (`service.py`), the life of the process (`run.py`).
"""

from dataclasses import dataclass

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from ktms.adapters.grpc.wire import MESSAGE_MAX_BYTES, SERVICE
from ktms.api.admin_grpc.exposure import is_loopback
from ktms.api.admin_grpc.tls import TlsUnusable, server_credentials
from ktms.config.address import Address
from ktms.config.port_tls import PortTls
from ktms.ledger.service import LedgerService

METADATA_MAX_BYTES = 8 * 1024
"""Gateways send none of their own."""

RPCS_MAX = 256
"""A gateway has one batch and a few questions under way; beyond a hundred of them somebody floods."""

OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_MAX_BYTES),
    ("grpc.max_send_message_length", MESSAGE_MAX_BYTES),
    ("grpc.max_metadata_size", METADATA_MAX_BYTES),
    ("grpc.absolute_max_metadata_size", METADATA_MAX_BYTES),
    ("grpc.so_reuseport", 0),  # a second service on the same port must fail, not share
    ("grpc.keepalive_time_ms", 30_000),  # a gateway that is gone without a word frees its connection
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),  # gateways ask for a sign of life every 20 s
)


class LedgerPortUnusable(Exception):
    """The port cannot be opened as asked; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to listen (port 0: any free one), and how."""

    address: Address
    tls: PortTls | None = None
    allow_plaintext: bool = False


class LedgerServer:
    """Serves between `start` and `stop`."""

    def __init__(self, listen: Listen, service: LedgerService) -> None:
        self._listen = listen
        self._service = service
        self._server: grpc.aio.Server | None = None
        self._health = health.aio.HealthServicer()
        self.port = 0

    async def start(self) -> None:
        """Open the port; `port` then holds its number. It is not healthy before `tell`.

        Raises:
            LedgerPortUnusable: plain text where it is not allowed, a port that is taken, an unusable certificate.
        """
        refuse_plaintext(self._listen)
        server = grpc.aio.server(options=OPTIONS, maximum_concurrent_rpcs=RPCS_MAX)
        handlers = self._service.handlers()
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        self.port = self._bind(server)
        await self.tell(healthy=False)
        await server.start()
        self._server = server

    async def tell(self, *, healthy: bool) -> None:
        """Say whether events can be stored."""
        status = health_pb2.HealthCheckResponse.SERVING if healthy else health_pb2.HealthCheckResponse.NOT_SERVING
        for name in ("", SERVICE):
            await self._health.set(name, status)

    async def stop(self, grace_s: float) -> None:
        """Refuse new calls, give running ones `grace_s` seconds, close the port. Harmless when not started."""
        if self._server is not None:
            await self._health.enter_graceful_shutdown()
            await self._server.stop(grace_s)
            self._server = None

    def _bind(self, server: grpc.aio.Server) -> int:
        address, tls = str(self._listen.address), self._listen.tls
        try:
            if tls is None:
                return server.add_insecure_port(address)
            return server.add_secure_port(address, server_credentials(tls.cert, tls.key, tls.client_ca))
        except TlsUnusable as error:
            raise LedgerPortUnusable(str(error)) from error
        except RuntimeError as error:
            raise LedgerPortUnusable(f"the port {address} cannot be opened: is it in use?") from error


def refuse_plaintext(listen: Listen) -> None:
    """Let nobody listen in on usage, or write some, unless the operator takes the risk.

    Raises:
        LedgerPortUnusable: plain text beyond this machine.
    """
    if listen.tls is None and not listen.allow_plaintext and not is_loopback(listen.address.host):
        raise LedgerPortUnusable(
            f"the ledger would speak plain text on {listen.address}: set KTMS_LEDGER_TLS_CERT and "
            "KTMS_LEDGER_TLS_KEY, use a loopback address, or accept the risk with KTMS_LEDGER_ALLOW_PLAINTEXT=1"
        )
