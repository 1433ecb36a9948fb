"""The words for launchd, and its codes: which is a missing desktop, which a real failure."""

import plistlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from ktms.node.machine import Ran
from ktms.node.service import launchd
from ktms.node.service.background import NODE, ServiceFailed
from ktms.node.settings import DRAIN_S
from tests.node.recordings import LABEL, UID, RecordedMachine, mac
from tests.node.service.programs import PROGRAM

PATH = Path("/Users/anna/Library/LaunchAgents/ktms.node.plist")
GUI, USER = f"gui/{UID}", f"user/{UID}"
NO_DOMAIN = "Could not print domain: 125: Domain does not support specified action\n"
INPUT_OUTPUT = "Bootstrap failed: 5: Input/output error\nTry re-running the command as root for richer errors.\n"


class Mac(RecordedMachine):
    """A Mac whose services come and go: `bootstraps` are the codes of `bootstrap`, in order, then 0."""

    def __init__(self, *bootstraps: int) -> None:
        known = mac()
        super().__init__("darwin", known.variables, known.ran)
        self.lacks("launchctl")
        self.answers("launchctl", "print", GUI, out="gui\n")
        self.answers("launchctl", "print", USER, out="user\n")
        self.answers("launchctl", "enable")
        for domain in (GUI, USER):
            self.answers("launchctl", "print", f"{domain}/{LABEL}", code=113, err="Could not find service\n")
        self.bootstraps = list(bootstraps)
        self.pauses: list[float] = []

    def run(self, words: Sequence[str], within_s: float = 0.0, stdin: str = "") -> Ran:
        ran = super().run(words, within_s, stdin)
        if tuple(words[:2]) != ("launchctl", "bootstrap"):
            return ran
        code = self.bootstraps.pop(0) if self.bootstraps else 0
        return Ran(code, err=f"Bootstrap failed: {code}: why\n" if code else "")

    def start(self) -> str:
        return launchd.start(self, UID, PATH, NODE, 40, self.pauses.append)

    def bootstrapped(self) -> list[str]:
        return [words[2] for words in self.asked if words[:2] == ("launchctl", "bootstrap")]


def plist() -> dict[str, object]:
    found = plistlib.loads(launchd.plist_text(PROGRAM).encode())
    assert isinstance(found, dict)
    return found


def test_the_plist_says_all_that_a_shell_would() -> None:
    made = plist()
    assert made["Label"] == LABEL
    assert made["ProgramArguments"] == list(PROGRAM.words)
    assert made["EnvironmentVariables"] == dict(PROGRAM.variables)


def test_it_runs_from_the_login_on_and_after_every_crash() -> None:
    made = plist()
    assert (made["RunAtLoad"], made["KeepAlive"]) == (True, {"SuccessfulExit": False})


def test_launchd_waits_for_running_answers() -> None:
    waits_s = plist()["ExitTimeOut"]
    assert isinstance(waits_s, int)
    assert waits_s > DRAIN_S


def test_it_is_not_held_back_as_work_in_the_background_is() -> None:
    assert plist()["ProcessType"] == "Interactive"


def test_it_may_be_loaded_with_and_without_a_desktop() -> None:
    assert plist()["LimitLoadToSessionType"] == ["Aqua", "Background"]


def test_with_a_desktop_it_is_loaded_there() -> None:
    machine = Mac()
    assert machine.start() == GUI
    assert machine.bootstrapped() == [GUI]


@pytest.mark.parametrize("code", [112, 125])
def test_a_login_over_ssh_alone_has_the_users_domain(code: int) -> None:
    machine = Mac()
    machine.answers("launchctl", "print", GUI, code=code, err=NO_DOMAIN)
    assert machine.start() == USER
    assert machine.bootstrapped() == [USER]


def test_125_after_a_good_probe_is_a_failure() -> None:
    machine = Mac(125)
    with pytest.raises(ServiceFailed, match=r"bootstrap gui/501 .* 125"):
        machine.start()
    assert machine.bootstrapped() == [GUI]


def test_5_right_after_the_old_one_ended_is_asked_again() -> None:
    machine = Mac(5, 5)
    assert machine.start() == GUI
    assert len(machine.pauses) == 2


def test_5_that_stays_leads_to_the_users_domain() -> None:
    machine = Mac(*[5] * launchd.BOOTSTRAPS_MAX)
    assert machine.start() == USER


def test_5_in_both_domains_is_a_failure() -> None:
    machine = Mac(*[5] * 2 * launchd.BOOTSTRAPS_MAX)
    with pytest.raises(ServiceFailed, match="5: why"):
        machine.start()


def test_5_in_the_users_domain_does_not_lead_to_the_desktop() -> None:
    machine = Mac(*[5] * launchd.BOOTSTRAPS_MAX)
    machine.answers("launchctl", "print", GUI, code=125, err=INPUT_OUTPUT)
    with pytest.raises(ServiceFailed):
        machine.start()
    assert set(machine.bootstrapped()) == {USER}


def test_a_service_that_is_loaded_already_is_loaded() -> None:
    assert Mac(37).start() == GUI


def test_what_was_disabled_once_is_enabled() -> None:
    machine = Mac()
    machine.start()
    assert ("launchctl", "enable", f"{GUI}/{LABEL}") in machine.asked


def test_an_old_one_is_ended_first_and_waited_for() -> None:
    machine = Mac()
    machine.answers("launchctl", "print", f"{USER}/{LABEL}", out="state = running\n")
    machine.answers("launchctl", "bootout")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        machine.answers("launchctl", "print", f"{USER}/{LABEL}", code=113)

    launchd.start(machine, UID, PATH, NODE, 40, pause)
    assert ("launchctl", "bootout", f"{USER}/{LABEL}") in machine.asked
    assert pauses == [launchd.PAUSE_S]


def test_stopping_what_is_not_loaded_asks_for_nothing() -> None:
    machine = Mac()
    launchd.stop(machine, UID, NODE, 40, machine.pauses.append)
    assert not [words for words in machine.asked if "bootout" in words]
