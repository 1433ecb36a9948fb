"""The words for systemd, and what is done where it says no."""

import shutil
import subprocess
from configparser import ConfigParser
from dataclasses import replace
from pathlib import Path

import pytest

from ktms.node.service import systemd
from ktms.node.service.background import NODE, ServiceFailed
from ktms.node.settings import DRAIN_S
from tests.node.recordings import UID, UNIT_SHOWN, container, linux
from tests.node.service.programs import PROGRAM

SYSTEMCTL = ("systemctl", "--user")


def unit() -> ConfigParser:
    """Read the unit as an INI file: no key stands twice in it but Environment."""
    made = ConfigParser(strict=False, interpolation=None)
    made.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    made.read_string(systemd.unit_text(PROGRAM))
    return made


def test_the_unit_is_where_the_user_has_them() -> None:
    assert systemd.unit_path(Path("/home/anna"), NODE) == Path("/home/anna/.config/systemd/user/ktms-node.service")


def test_it_is_started_again_after_every_end_but_one_that_another_agent_made() -> None:
    service = unit()["Service"]
    assert (service["Restart"], service["RestartPreventExitStatus"]) == ("always", "3")
    assert unit()["Unit"]["StartLimitIntervalSec"] == "0"


def test_the_signal_to_end_goes_to_the_agent_alone() -> None:
    assert unit()["Service"]["KillMode"] == "mixed"


def test_running_answers_get_their_time() -> None:
    assert int(unit()["Service"]["TimeoutStopSec"]) > DRAIN_S


def test_words_and_variables_are_quoted_as_systemd_reads_them() -> None:
    text = systemd.unit_text(PROGRAM)
    assert 'ExecStart=/home/anna/.ktms/venv/bin/ktms-node run --home "/home/anna/my node/100%%"\n' in text
    assert "Environment=HTTPS_PROXY=http://proxy:3128\n" in text
    assert 'Environment="WORD=with \\"quotes\\" and $money"\n' in text


def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    program = replace(PROGRAM, words=("/bin/cat", "100 %", "$x"))
    (tmp_path / "ktms-node.service").write_text(systemd.unit_text(program))
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not on this machine")
    words = ["systemd-analyze", "--user", "verify", str(tmp_path / "ktms-node.service")]
    env = {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, check=False, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_job_without_a_session_is_told_where_the_users_systemd_is() -> None:
    assert systemd.words_of({}, 501) == ("env", "XDG_RUNTIME_DIR=/run/user/501", "systemctl", "--user")
    assert systemd.words_of({"XDG_RUNTIME_DIR": "/run/user/501"}, 501) == SYSTEMCTL


def test_a_systemd_that_is_up_takes_units_and_that_of_a_container_does_not() -> None:
    assert systemd.answers(linux(), SYSTEMCTL)
    assert not systemd.answers(container(), SYSTEMCTL)


def test_a_systemd_with_a_failed_unit_of_somebody_takes_units() -> None:
    machine = linux()
    machine.answers(*SYSTEMCTL, "is-system-running", out="degraded\n", code=1)
    assert systemd.answers(machine, SYSTEMCTL)


def test_starting_reads_the_unit_anew_and_has_it_start_with_the_machine() -> None:
    machine = linux()
    machine.answers(*SYSTEMCTL)
    systemd.start(machine, SYSTEMCTL, NODE, 40)
    assert [words[2:] for words in machine.asked] == [
        ("daemon-reload",),
        ("enable", "ktms-node.service"),
        ("restart", "ktms-node.service"),
    ]


def test_what_systemd_says_of_a_unit_it_does_not_start_is_handed_on() -> None:
    machine = linux()
    machine.answers(*SYSTEMCTL)
    machine.answers(*SYSTEMCTL, "restart", code=1, err="Job for ktms-node.service failed.\nSee journalctl.\n")
    with pytest.raises(ServiceFailed, match="See journalctl"):
        systemd.start(machine, SYSTEMCTL, NODE, 40)


def test_stopping_what_is_not_there_is_no_error() -> None:
    systemd.stop(container(), SYSTEMCTL, NODE, 40)


def test_whether_it_runs_is_read_from_the_unit() -> None:
    machine = linux()
    assert systemd.is_active(machine, SYSTEMCTL, NODE)
    machine.answers(*UNIT_SHOWN, out="ActiveState=failed\n")
    assert not systemd.is_active(machine, SYSTEMCTL, NODE)


def test_linger_is_read_and_asked_for() -> None:
    machine = linux()
    machine.answers("loginctl", "enable-linger", "anna")
    assert systemd.lingers(machine, "anna")
    assert systemd.linger(machine, "anna") is None


def test_where_a_user_may_not_linger_there_is_a_line_for_an_administrator() -> None:
    machine = linux()
    machine.answers("loginctl", "enable-linger", code=1, err="Could not enable linger: Access denied\n")
    assert systemd.linger(machine, "anna") == "sudo loginctl enable-linger anna"


def test_a_user_is_known_by_number_in_a_runtime_folder() -> None:
    assert str(UID) in systemd.words_of({}, UID)[1]
