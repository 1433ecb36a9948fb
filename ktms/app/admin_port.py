"""The admin port beside a gateway."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ktms.api.admin_grpc.server import AdminPortUnusable, AdminServer, Listen, TlsFiles
from ktms.api.admin_grpc.service import AdminPorts
from ktms.api.admin_grpc.tls import TlsUnusable
from ktms.app.failed import StartFailed
from ktms.app.production import Production
from ktms.app.release import release
from ktms.config.address import Address
from ktms.config.port_tls import PortTls
from ktms.domain.capacity.fleet_status import FleetStatus

STOP_GRACE_S = 1.0
"""A change under way is one transaction of a few milliseconds."""


@asynccontextmanager
async def admin_port(
    real: Production,
    address: Address,
    fleet: Callable[[], FleetStatus],
    *,
    tls: PortTls | None = None,
    allow_plaintext: bool = False,
) -> AsyncIterator[int]:
    """Serve the admin plane while the block runs; gives the port. `fleet` tells how this replica sees the nodes.

    Raises:
        StartFailed: the port is taken, or would be exposed in plain text.
    """
    files = None if tls is None else TlsFiles(tls.cert, tls.key, tls.client_ca)
    server = AdminServer(
        Listen(address.host, address.port, files, allow_plaintext),
        AdminPorts(
            config=real.config,
            keys=real.keys,
            versions=real.ports.catalogue,
            nodes=real.nodes,
            policies=real.policies,
            fleet=fleet,
            reports=real.ports.reports,
            batches=real.ports.batches.batches,
        ),
        telemetry=real.telemetry,
        server_version=release(),
    )
    try:
        await server.start()
    except (AdminPortUnusable, TlsUnusable) as error:
        raise StartFailed(str(error)) from error
    try:
        yield server.port
    finally:
        await server.stop(STOP_GRACE_S)
