"""A certificate that no authority has signed, as the installer has it made."""

import ssl
import subprocess
from pathlib import Path


def own_context(folder: Path) -> ssl.SSLContext:
    """Give what a server speaks TLS with."""
    certificate, key = str(folder / "own.crt"), str(folder / "own.key")
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    words += ["-subj", "/CN=own", "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key]
    subprocess.run(words, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
