"""The filter's own certificate: made once by the installer, shown by the filter, pinned by the gateway.

Not here: making it (`install/`).
"""

import hashlib
import ssl
from pathlib import Path

from ktms.node.home import NodeHome
from ktms.node.settings_file import SettingsUnusable


def fingerprint(path: Path) -> str:
    """Give the SHA-256 of a certificate in hex.

    Raises:
        SettingsUnusable: there is none, or it is none.
    """
    try:
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(path.read_text(encoding="ascii"))).hexdigest()
    except (OSError, ValueError) as error:
        raise SettingsUnusable(f"{path} is no certificate: run the installer again") from error


def server_context(home: NodeHome) -> ssl.SSLContext:
    """Give what the filter speaks TLS with.

    Raises:
        SettingsUnusable: certificate or key cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(home.certificate, home.certificate_key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsUnusable(
            f"{home.certificate} and its key cannot be used: run the installer again"
        ) from error
    return context
