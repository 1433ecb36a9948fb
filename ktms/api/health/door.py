"""Alive, ready, metrics: three routes that never touch a dependency and never ask for a key.

`/healthz` says that the loop turns; `/readyz` whether a balancer should send calls, with the reasons as JSON;
`/metrics` what was counted.
"""

from collections.abc import Callable

from ktms.api.inbound import Inbound
from ktms.api.routes import Routes
from ktms.api.wire import Dates, Reply, whole
from ktms.dialects.json import as_json
from ktms.engine.readiness import Readiness

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class HealthDoor:
    """Serves the health routes."""

    def __init__(self, readiness: Callable[[], Readiness], exposition: Callable[[], bytes], dates: Dates) -> None:
        self._readiness = readiness
        self._exposition = exposition
        self._dates = dates

    def routes(self) -> Routes:
        """Give the routes of health."""
        return {
            "/healthz": {"GET": self._healthz},
            "/readyz": {"GET": self._readyz},
        }

    def metrics_routes(self) -> Routes:
        """Give the route of the metrics, which may have a port of its own."""
        return {"/metrics": {"GET": self._metrics}}

    async def _healthz(self, request: Inbound) -> Reply:
        return whole(request, self._dates, 200, b'{"status":"alive"}')

    async def _readyz(self, request: Inbound) -> Reply:
        readiness = self._readiness()
        status = 200 if readiness.ready else 503
        detail = {"status": readiness.status, "reasons": readiness.reasons, "snapshot": readiness.version}
        return whole(request, self._dates, status, as_json(detail))

    async def _metrics(self, request: Inbound) -> Reply:
        return whole(request, self._dates, 200, self._exposition(), content_type=METRICS_TYPE)
