"""From the environment's settings to the gateway's: one translation for all ways to start."""

from ktms.adapters.telemetry.access_line import LogFormat
from ktms.adapters.telemetry.gateway_telemetry import LogSettings
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.api.listener import ListenerSettings
from ktms.app.batch_parts import BatchSettings
from ktms.app.gateway import GatewaySettings
from ktms.config.settings import LogLevel, Settings
from ktms.domain.catalogue import DollarLimitMode
from ktms.engine.settings import MIB, EngineSettings

DAY_S = 24 * 3600.0


FILES_ASIDE = 128
"""Files that belong to no call: databases, Redis, the ledger, the admin port, logs, the spool."""

CONNECTIONS_MIN = 16
"""Below it nothing works; `ktms doctor` warns long before."""


def gateway_settings(settings: Settings, *, drain_delay_s: float, files_max: int) -> GatewaySettings:
    """Give the settings of the assembly; `files_max` is how many files the process may open.

    Half of them are for clients: a call under way holds one connection of theirs and one of its target.
    """
    return GatewaySettings(
        engine=EngineSettings(
            key_window_s=settings.key_window_s,
            hold_status_s=settings.hold_status_s,
            dollars_closed=settings.dollar_limit_mode is DollarLimitMode.CLOSED,
            explain_choices=settings.log_level is LogLevel.DEBUG,
        ),
        batches=BatchSettings(
            file_max_bytes=settings.batches.file_max_mb * MIB,
            files_max_bytes=settings.batches.files_per_key_mb * MIB,
            lines_max=settings.batches.lines_max,
            keep_s=settings.batches.keep_days * DAY_S,
        ),
        listener=ListenerSettings(connections_max=max(CONNECTIONS_MIN, (files_max - FILES_ASIDE) // 2)),
        metrics_apart=settings.metrics_addr is not None,
        drain_delay_s=drain_delay_s,
        shutdown_s=settings.shutdown_timeout_s,
    )


def log_settings(settings: Settings, *, log_format: LogFormat, fd: int) -> LogSettings:
    """Give where and how to log."""
    return LogSettings(log_format=log_format, level=settings.log_level.value, fd=fd)


def address_rules(settings: Settings, *, loopback_nodes: bool) -> AddressRules:
    """Give which addresses may be dialled."""
    return AddressRules(node_cidrs=settings.node_allowed_cidrs or (), loopback_nodes=loopback_nodes)
