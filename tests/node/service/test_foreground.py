"""Machines without services: which kind it is, and what is started by hand."""

from ktms.node.service.foreground import commands, why_no_service
from tests.node.recordings import container, linux, wsl
from tests.node.service.programs import PROGRAM


def test_wsl_is_known_and_told_how_it_gets_a_systemd() -> None:
    assert "WSL" in why_no_service(wsl())
    assert "systemd=true" in why_no_service(wsl())


def test_a_container_is_known() -> None:
    assert why_no_service(container()) == "this is a container"


def test_a_user_whose_systemd_does_not_answer_is_told_to_log_in() -> None:
    machine = linux()
    machine.answers("systemctl", "--version", out="systemd 257\n")
    assert "log in" in why_no_service(machine)


def test_a_system_without_systemd_is_known() -> None:
    machine = linux()
    machine.lacks("systemctl")
    assert why_no_service(machine) == "this system has no systemd"


def test_the_printed_command_is_one_that_a_shell_takes() -> None:
    (line,) = commands([PROGRAM])
    assert line.startswith("env HTTPS_PROXY=http://proxy:3128 'WORD=with ")
    assert line.endswith("ktms-node run --home '/home/anna/my node/100%'")
