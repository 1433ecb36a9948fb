import pytest

from ktms.api.admin_grpc.exposure import Fine, Refused, Warned, exposure, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_this_machine_alone_is_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "gateway", "localhost.example.org", "127.0.0.1.nip.io"]
)
def test_everything_else_is_not(host: str) -> None:
    assert not is_loopback(host)


def test_plain_text_on_loopback_is_fine() -> None:
    assert exposure("127.0.0.1", tls=False, allow_plaintext=False) == Fine()


def test_tls_is_fine_anywhere() -> None:
    assert exposure("0.0.0.0", tls=True, allow_plaintext=False) == Fine()


def test_plain_text_elsewhere_is_refused_with_the_three_ways_out() -> None:
    judged = exposure("0.0.0.0", tls=False, allow_plaintext=False)
    assert isinstance(judged, Refused)
    assert all(
        word in judged.reason for word in ("KTMS_ADMIN_TLS_CERT", "loopback", "KTMS_ADMIN_ALLOW_PLAINTEXT=1")
    )


def test_plain_text_elsewhere_that_was_allowed_is_warned_about() -> None:
    assert isinstance(exposure("0.0.0.0", tls=False, allow_plaintext=True), Warned)
