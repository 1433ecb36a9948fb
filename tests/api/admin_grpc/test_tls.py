from pathlib import Path

import pytest

from ktms.api.admin_grpc.tls import PEM_MAX_BYTES, TlsUnusable, server_credentials
from tests.api.admin_grpc.certificates import Certificates


def test_a_certificate_and_its_key_make_credentials(certificates: Certificates) -> None:
    assert server_credentials(certificates.cert, certificates.key, None) is not None


def test_a_missing_file_is_named(certificates: Certificates, tmp_path: Path) -> None:
    with pytest.raises(TlsUnusable, match=r"cannot read .*gone.pem: No such file"):
        server_credentials(tmp_path / "gone.pem", certificates.key, None)


def test_a_key_where_a_certificate_belongs_is_refused(certificates: Certificates) -> None:
    with pytest.raises(TlsUnusable, match="no BEGIN CERTIFICATE in PEM form"):
        server_credentials(certificates.key, certificates.key, None)


def test_a_certificate_where_a_key_belongs_is_refused(certificates: Certificates) -> None:
    with pytest.raises(TlsUnusable, match="no PRIVATE KEY in PEM form"):
        server_credentials(certificates.cert, certificates.cert, None)


def test_a_file_that_is_too_large_is_refused(certificates: Certificates, tmp_path: Path) -> None:
    path = tmp_path / "large.pem"
    path.write_bytes(certificates.cert.read_bytes() + b"#" * PEM_MAX_BYTES)
    with pytest.raises(TlsUnusable):
        server_credentials(path, certificates.key, None)
