"""A certificate by the command of the machine: the filter speaks TLS with it, and its hash is what is pinned."""

import ssl
import stat
import subprocess
from pathlib import Path

import pytest

from ktms.node.certificate import fingerprint, server_context
from ktms.node.home import NodeHome
from ktms.node.install.certificate import configuration, make_certificate
from ktms.node.install.refused import Refused
from ktms.node.this_machine import ThisMachine
from tests.node.recordings import linux


@pytest.fixture
def home(tmp_path: Path) -> NodeHome:
    return NodeHome(tmp_path)


def make(home: NodeHome, address: str = "10.0.0.7") -> str:
    make_certificate(ThisMachine(), "openssl", home.certificate, home.certificate_key, address)
    words = ["openssl", "x509", "-in", str(home.certificate), "-noout", "-text"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_the_filter_can_speak_tls_with_it(home: NodeHome) -> None:
    make(home)
    assert server_context(home).cert_store_stats() is not None
    assert len(fingerprint(home.certificate)) == 64


def test_it_is_for_the_address(home: NodeHome) -> None:
    assert "IP Address:10.0.0.7" in make(home)


def test_it_may_be_for_a_name_or_an_ipv6_address(home: NodeHome) -> None:
    assert "DNS:node.example" in make(home, "node.example")
    assert "IP Address:FD00" in make(home, "fd00::7")


def test_it_is_of_p_256_and_holds_for_ten_years(home: NodeHome) -> None:
    text = make(home)
    assert "prime256v1" in text
    words = ["openssl", "x509", "-in", str(home.certificate), "-noout", "-checkend", str(3649 * 86400)]
    assert subprocess.run(words, check=False, capture_output=True).returncode == 0


def test_the_key_is_for_the_owner_alone(home: NodeHome) -> None:
    make(home)
    assert stat.S_IMODE(home.certificate_key.stat().st_mode) == 0o600


def test_it_signs_nothing_else(home: NodeHome) -> None:
    assert "CA:FALSE" in make(home)


def test_what_openssl_says_of_a_failure_is_handed_on(home: NodeHome) -> None:
    machine = linux()
    machine.answers("openssl", code=1, err="req: Unrecognized flag\n")
    with pytest.raises(Refused, match="Unrecognized flag"):
        make_certificate(machine, "openssl", home.certificate, home.certificate_key, "10.0.0.7")
    assert machine.written == {}


def test_nothing_but_the_address_differs_from_node_to_node() -> None:
    assert configuration("a").replace("DNS:a", "DNS:b") == configuration("b")


def test_another_certificate_has_another_hash(home: NodeHome) -> None:
    make(home)
    first = fingerprint(home.certificate)
    make(home)
    assert fingerprint(home.certificate) != first
    assert ssl.PEM_cert_to_DER_cert(home.certificate.read_text())
