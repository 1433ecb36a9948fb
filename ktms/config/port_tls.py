"""Environment -> TLS of a port of ours: admin port and accounting service say it in the same words.

Not here: how a gateway reaches the accounting service over TLS (`settings.py`), what is in the files.
"""

from dataclasses import dataclass
from pathlib import Path

from ktms.config.variables import PREFIX, Variables


@dataclass(frozen=True, slots=True)
class PortTls:
    """Certificate and key of a port; with `client_ca` clients must show a certificate too."""

    cert: Path
    key: Path
    client_ca: Path | None = None


def read_port_tls(read: Variables, port: str) -> PortTls | None:
    """Read the variables `<port>_TLS_…`: all of certificate and key, or neither; a client CA only with them."""
    cert, key, client_ca = (read.path(f"{port}_TLS_{part}") for part in ("CERT", "KEY", "CLIENT_CA"))
    if cert is not None and key is not None:
        return PortTls(cert, key, client_ca)
    if cert is not None or key is not None or client_ca is not None:
        missing, pair = "CERT" if cert is None else "KEY", f"{PREFIX}{port}_TLS"
        read.refuse(f"{port}_TLS_{missing}", f"not set; TLS needs {pair}_CERT and {pair}_KEY")
    return None
