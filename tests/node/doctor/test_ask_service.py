from pathlib import Path

import pytest

from ktms.node.doctor.ask_service import ask_service, read_properties, uid_of
from ktms.node.doctor.facts import ServiceFacts
from ktms.node.engines.processes import Process, processes
from tests.node.recordings import (
    AGENT_PID,
    ASSERTIONS,
    INHIBITORS,
    LABEL,
    UID,
    UNIT_SHOWN,
    RecordedMachine,
    container,
    inhibitors,
    launchd_service,
    linux,
    mac,
    systemd_service,
    wsl,
)


def asked(machine: RecordedMachine, agent: int | None = AGENT_PID) -> ServiceFacts:
    return ask_service(machine, agent, processes(machine, lambda _: True))


def test_a_mac_that_is_well_has_its_service_and_stays_awake() -> None:
    told = asked(mac())
    assert (told.is_enabled, told.sleep_prevented, told.is_encrypted) == (True, True, False)
    assert (told.lingers, told.last_exit, told.start) == (None, None, f"launchctl kickstart gui/{UID}/{LABEL}")


def test_a_service_of_the_user_domain_counts_too() -> None:
    machine = mac()
    machine.answers(
        "launchctl", "print", f"gui/{UID}/{LABEL}", code=125, err="Domain does not support that action"
    )
    machine.answers("launchctl", "print", f"user/{UID}/{LABEL}", out=launchd_service(last_exit="2"))
    told = asked(machine)
    assert (told.is_enabled, told.last_exit, told.start) == (True, 2, f"launchctl kickstart user/{UID}/{LABEL}")


def test_a_caffeinate_of_somebody_else_keeps_nobody_awake_for_us() -> None:
    machine = mac()
    said = machine.ran[ASSERTIONS].out.replace("pid 4241(", "pid 999(")
    machine.answers(*ASSERTIONS, out=said)
    assert asked(machine).sleep_prevented is False


def test_a_linux_that_is_well_has_its_unit_lingers_and_stays_awake() -> None:
    told = asked(linux())
    assert (told.is_enabled, told.lingers, told.sleep_prevented, told.why_none) == (True, True, True, None)


@pytest.mark.parametrize("state", ["disabled", "masked", ""])
def test_a_unit_that_does_not_start_by_itself_is_off(state: str) -> None:
    machine = linux()
    machine.answers(*UNIT_SHOWN, out=systemd_service(enabled=state, status=2))
    told = asked(machine)
    assert (told.is_enabled, told.last_exit) == (False, 2)


def test_a_machine_that_cannot_sleep_needs_no_lock() -> None:
    machine = linux()
    machine.answers(*INHIBITORS, out=inhibitors(what=None))
    machine.answers("systemctl", "show", "sleep.target", out="LoadState=masked\n\nLoadState=masked\n")
    assert asked(machine).sleep_prevented is True


def test_a_lock_that_only_delays_is_none() -> None:
    machine = linux()
    machine.answers(*INHIBITORS, out=inhibitors().replace("block", "delay"))
    assert asked(machine).sleep_prevented is False


def test_a_lock_of_an_agent_that_is_gone_is_none_of_ours() -> None:
    assert asked(linux(), agent=None).sleep_prevented is False


def test_who_lingers_without_being_logged_in_is_known_by_a_file() -> None:
    machine = linux()
    machine.answers("loginctl", code=1, err="Failed to get user: User ID 501 is not logged in or lingering\n")
    machine.lacks("loginctl", "show-user")
    assert asked(machine).lingers is None
    machine.files[Path("/var/lib/systemd/linger/anna")] = ""
    assert asked(machine).lingers is True


@pytest.mark.parametrize(("machine", "why"), [(container(), "this is a container"), (wsl(), "this is WSL")])
def test_a_machine_without_services_says_why(machine: RecordedMachine, why: str) -> None:
    told = asked(machine)
    assert (told.why_none or "").startswith(why)
    assert (told.is_enabled, told.lingers, told.sleep_prevented) == (None, None, None)


def test_the_parent_of_the_agent_may_hold_the_lock() -> None:
    machine = linux()
    found = (Process(AGENT_PID, 4241, ("ktms-node", "run")),)
    assert ask_service(machine, AGENT_PID, found).sleep_prevented is True


def test_a_user_without_a_number_is_nobody() -> None:
    assert (uid_of(RecordedMachine("linux")), uid_of(mac())) == (65_534, UID)


def test_properties_are_read_up_to_their_first_sign() -> None:
    assert read_properties("A=1\n\nB=x=y\nnothing\n") == {"A": "1", "B": "x=y"}
