"""Makes the certificate that the filter shows and the gateway pins, with the command openssl of the machine.

It signs itself and holds for ten years: the gateway compares its SHA-256, so nobody else has to vouch for it, and
an expiry would only stop a node. Options that old LibreSSL (macOS) and OpenSSL share. Not here: using it
(`ktms/node/certificate.py`).
"""

import ipaddress
from pathlib import Path

from ktms.node.install.refused import Refused
from ktms.node.machine import Machine, Ran

DAYS = 3650

KEY_MODE, CERTIFICATE_MODE = 0o600, 0o644


def make_certificate(machine: Machine, openssl: str, certificate: Path, key: Path, address: str) -> None:
    """Make both files.

    Raises:
        Refused: openssl cannot.
    """
    made = _expect(machine.run((openssl, "ecparam", "-name", "prime256v1", "-genkey", "-noout")))
    machine.write(key, made, KEY_MODE)
    words = (openssl, "req", "-new", "-x509", "-sha256", "-key", str(key), "-days", str(DAYS))
    signed = machine.run((*words, "-config", "/dev/stdin", "-extensions", "ours"), stdin=configuration(address))
    machine.write(certificate, _expect(signed), CERTIFICATE_MODE)


def configuration(address: str) -> str:
    """Write what openssl is to put into the certificate."""
    return (
        "[req]\nprompt = no\ndistinguished_name = name\n"
        "[name]\nCN = ktms-node\n"
        f"[ours]\nsubjectAltName = {_alternative(address)}\nbasicConstraints = critical, CA:false\n"
        "keyUsage = critical, digitalSignature\nextendedKeyUsage = serverAuth\n"
    )


def _alternative(address: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(address)}"
    except ValueError:
        return f"DNS:{address}"


def _expect(ran: Ran) -> str:
    if ran.code != 0 or "-----BEGIN" not in ran.out:
        said = ran.err.strip().splitlines()
        raise Refused(
            f"openssl makes no certificate: {said[-1] if said else ran.code}", "say --tls off, or mend openssl"
        )
    return ran.out
