"""`ktms serve` where it cannot start, or not yet: one clear line and exit code 1, or alive and waiting."""

import os
import re
from pathlib import Path

import pytest

from tests.e2e.conftest import NewHome
from tests.e2e.ports import any_port, occupied
from tests.e2e.program import KTMS, environment, run
from tests.e2e.serve_process import KEYRING, LOOPBACK, serving
from tests.e2e.waiting import now

pytestmark = pytest.mark.service

ENDS_WITHIN_S = 5.0

PASSWORD = "a-password-of-the-tests"


def postgres_at(port: int) -> str:
    return f"postgresql://ktms:{PASSWORD}@{LOOPBACK}:{port}/ktms"


COMPLETE = {"KTMS_DATABASE_URL": postgres_at(1), "KTMS_ENCRYPTION_KEYS": KEYRING}


@pytest.fixture(scope="module")
def folder(new_home: NewHome) -> Path:
    return new_home().folder


def refused(folder: Path, **variables: str) -> list[str]:
    """Run a `ktms serve` that must end by itself; give what it says."""
    free = {"KTMS_HTTP_ADDR": f"{LOOPBACK}:{any_port()}", "KTMS_ADMIN_ADDR": f"{LOOPBACK}:{any_port()}"}
    done = run([KTMS, "serve"], environment(folder, **{**free, **COMPLETE, **variables}))
    assert done.code == 1
    assert "Traceback" not in done.out + done.err
    return done.lines


@pytest.mark.parametrize("name", ["KTMS_DATABASE_URL", "KTMS_ENCRYPTION_KEYS"])
def test_what_has_no_default_is_asked_for(folder: Path, name: str) -> None:
    (said,) = refused(folder, **{name: ""})
    assert said.startswith(f"ktms: {name} is not set")


def test_a_taken_port_is_named_with_its_owner(folder: Path) -> None:
    with occupied() as port:
        (said,) = refused(folder, KTMS_HTTP_ADDR=f"{LOOPBACK}:{port}")
    assert re.search(rf"cannot listen on {LOOPBACK}:{port}: taken by \S+ \(pid {os.getpid()}\)", said)


def test_an_admin_port_open_to_all_in_plain_text_is_refused(folder: Path) -> None:
    said = " ".join(refused(folder, KTMS_ADMIN_ADDR=f"0.0.0.0:{any_port()}"))
    assert "KTMS_ADMIN_TLS" in said


def test_every_wrong_setting_is_named_at_once(folder: Path) -> None:
    said = refused(folder, KTMS_KEY_WINDOW_S="1", KTMS_LOG_LEVEL="loud")
    assert [line.split()[1].rstrip(":") for line in said] == ["KTMS_KEY_WINDOW_S", "KTMS_LOG_LEVEL"]


def test_it_can_be_ended_while_it_waits_for_a_postgres_that_hangs(folder: Path) -> None:
    with occupied() as port, serving(folder, postgres_at(port), {"KTMS_DRAIN_DELAY_S": "0"}) as replica:
        assert replica.readiness()[0] == 503
        began_at = now()
        done = replica.program.stop()
        assert now() - began_at < ENDS_WITHIN_S
        assert (done.code, done.lines) == (0, [])
        assert PASSWORD not in done.out
