"""A small authority, a certificate of localhost and one of a client, for tests of TLS."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificates:
    """A small authority, a certificate of 127.0.0.1, and one of a client, as PEM files."""

    ca: Path
    cert: Path
    key: Path
    client_cert: Path
    client_key: Path


def make_certificates(folder: Path) -> Certificates:
    """Make keys and certificates below a folder."""
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _certificate("ca", ca_key, "ca", ca_key, authority=True)
    paths = {"ca": _write(folder / "ca.pem", ca.public_bytes(serialization.Encoding.PEM))}
    for name in ("server", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        cert = _certificate(name, key, "ca", ca_key, authority=False)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        paths[f"{name}_key"] = _write(folder / f"{name}.key", pem)
        paths[f"{name}_cert"] = _write(folder / f"{name}.pem", cert.public_bytes(serialization.Encoding.PEM))
    return Certificates(
        paths["ca"], paths["server_cert"], paths["server_key"], paths["client_cert"], paths["client_key"]
    )


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: str, signer: ec.EllipticCurvePrivateKey, *, authority: bool
) -> x509.Certificate:
    start = datetime.fromisoformat("2020-01-01T00:00:00+00:00")
    alternatives = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=36_500))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(alternatives, critical=False)
        .sign(signer, hashes.SHA256())
    )
