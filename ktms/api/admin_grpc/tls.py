"""Certificate, key and client CA of the admin port, from files.

Read once, at start. Not here: when TLS is needed (`exposure.py`), which files (config).
"""

from pathlib import Path

import grpc

PEM_MAX_BYTES = 256 * 1024
"""A bundle of a hundred certificates is smaller; a larger file is the wrong file."""


class TlsUnusable(Exception):
    """A certificate or key file cannot be used; the message names the path."""


def server_credentials(cert: Path, key: Path, client_ca: Path | None) -> grpc.ServerCredentials:
    """Make the credentials of the server; with `client_ca` each client must show a certificate signed by it.

    Raises:
        TlsUnusable: a file is missing, unreadable or not PEM.
    """
    pair = (_pem(key, b"PRIVATE KEY-----"), _pem(cert, b"-----BEGIN CERTIFICATE-----"))
    roots = _pem(client_ca, b"-----BEGIN CERTIFICATE-----") if client_ca is not None else None
    return grpc.ssl_server_credentials([pair], root_certificates=roots, require_client_auth=roots is not None)


def _pem(path: Path, sign: bytes) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(PEM_MAX_BYTES + 1)
    except OSError as error:
        raise TlsUnusable(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > PEM_MAX_BYTES or sign not in data:
        raise TlsUnusable(f"{path} does not hold what is expected: no {sign.decode().strip('-')} in PEM form")
    return data
