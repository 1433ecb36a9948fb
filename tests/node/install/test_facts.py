"""What is asked of machines: recorded ones of all kinds, without changing anything on them."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ktms.node.home import NodeHome
from ktms.node.install import facts as facts_module
from ktms.node.install.engines_here import EngineHere
from ktms.node.install.facts import FIRST_OF, Facts, Manager, agent_pid, gather, mark_of, unpacked_mark
from ktms.node.install.options import Asked
from ktms.node.service import launchd, systemd
from ktms.node.service.background import NODE, OLLAMA
from ktms.node.settings_file import settings_text
from ktms.node.this_machine import ThisMachine
from tests.e2e.ports import any_port, occupied
from tests.node.nodes import settings
from tests.node.recordings import (
    AGENT_PID,
    LINUX_HOME,
    MAC_HOME,
    UID,
    RecordedMachine,
    container,
    linux,
    mac,
    wsl,
)


@pytest.fixture
def home(tmp_path: Path) -> NodeHome:
    return NodeHome(tmp_path / ".ktms")


def nobody(urls: tuple[str, ...]) -> tuple[EngineHere, ...]:
    return ()


def ask(machine: RecordedMachine, home: NodeHome, **changes: object) -> Facts:
    changes.setdefault("listen_port", any_port())
    return gather(machine, Asked(home, changes), None, nobody, "/usr/bin/python3.12")


def test_a_mac_is_seen_as_what_it_is(home: NodeHome) -> None:
    seen = ask(mac(), home)
    assert (seen.system, seen.cpu, seen.uid, seen.user) == ("darwin", "arm64", UID, "anna")
    assert (seen.manager, seen.major_version, seen.user_home) == (Manager.LAUNCHD, 15, MAC_HOME)


def test_apple_silicon_is_seen_through_rosetta(home: NodeHome) -> None:
    machine = mac()
    machine.answers("uname", "-m", out="x86_64\n")
    assert ask(machine, home).cpu == "arm64"


def test_a_mac_with_an_intel_cpu_is_seen(home: NodeHome) -> None:
    machine = mac()
    machine.answers("uname", "-m", out="x86_64\n")
    machine.answers("sysctl", "-n", "hw.optional.arm64", code=1, err="unknown oid\n")
    assert ask(machine, home).cpu == "amd64"


def test_a_linux_with_systemd_is_seen(home: NodeHome) -> None:
    seen = ask(linux(), home)
    assert (seen.system, seen.cpu, seen.manager, seen.user_home) == ("linux", "amd64", Manager.SYSTEMD, LINUX_HOME)
    assert seen.lingers


@pytest.mark.parametrize(("machine", "says"), [(container(), "container"), (wsl(), "WSL")])
def test_where_there_are_no_services_it_is_said_why(machine: RecordedMachine, says: str, home: NodeHome) -> None:
    seen = ask(machine, home)
    assert seen.manager is Manager.NONE
    assert says in seen.why_no_service


def test_a_service_that_runs_is_seen_with_its_text(home: NodeHome) -> None:
    machine = linux()
    machine.files[systemd.unit_path(LINUX_HOME, NODE)] = "[Unit]\n"
    assert ask(machine, home).services[NODE] == facts_module.ServiceHere("[Unit]\n", runs=True)


def test_a_launch_agent_that_runs_is_seen(home: NodeHome) -> None:
    machine = mac()
    machine.files[launchd.plist_path(MAC_HOME, NODE)] = "<plist>"
    seen = ask(machine, home).services
    assert seen[NODE].runs
    assert seen[OLLAMA] == facts_module.ServiceHere()


def test_programs_are_found_on_the_path_and_in_their_usual_places(home: NodeHome) -> None:
    machine = mac()
    machine.answers(
        "sh", "-c", FIRST_OF, "sh", str(home.programs / "ollama" / "bin" / "ollama"), out="/x/ollama\n"
    )
    assert ask(machine, home).programs == {"ollama": "/x/ollama"}


def test_a_program_of_ours_goes_before_another_of_its_name(home: NodeHome) -> None:
    machine = linux()
    ask(machine, home)
    asked = [words[4:] for words in machine.asked if words[:3] == ("sh", "-c", FIRST_OF)]
    assert asked[0][:3] == (
        str(home.programs / "ollama" / "bin" / "ollama"),
        str(home.programs / "ollama" / "ollama"),
        "ollama",
    )


def test_what_was_installed_before_is_seen(home: NodeHome) -> None:
    machine = linux()
    machine.files |= {mark_of(home): "ab\n", unpacked_mark(home, "ollama"): "cd\n"}
    seen = ask(machine, home)
    assert (seen.agent_sha256, seen.unpacked) == ("ab", {"ollama": "cd"})


def test_settings_of_before_are_read(home: NodeHome) -> None:
    home.folder.mkdir()
    home.settings.write_text(settings_text(settings()))
    home.settings.chmod(0o600)
    assert ask(linux(), home).settings == settings()


def test_settings_that_are_open_to_others_are_a_problem(home: NodeHome) -> None:
    home.folder.mkdir()
    home.settings.write_text(settings_text(settings()))
    home.settings.chmod(0o644)
    seen = ask(linux(), home)
    assert seen.settings is None
    assert "chmod 600" in str(seen.settings_problem)


def test_an_agent_that_runs_is_seen(home: NodeHome) -> None:
    machine = linux()
    machine.files[home.status] = f'{{"pid": {AGENT_PID}}}'
    machine.answers("ps", "-ww", "-p", str(AGENT_PID), "-o", "args=", out="python /x/venv/bin/ktms-node run\n")
    assert ask(machine, home).agent_pid == AGENT_PID


def test_a_process_that_took_the_agents_number_is_not_the_agent(home: NodeHome) -> None:
    machine = linux()
    machine.files[home.status] = f'{{"pid": {AGENT_PID}}}'
    machine.answers("ps", "-ww", "-p", str(AGENT_PID), "-o", "args=", out="vim\n")
    assert ask(machine, home).agent_pid is None


def test_a_port_that_somebody_has_is_seen(home: NodeHome) -> None:
    with occupied() as port:
        assert port in ask(linux(), home, listen_port=port).taken_ports


def test_the_address_towards_the_gateway_is_found(home: NodeHome) -> None:
    assert ask(linux(), home, gateway="http://127.0.0.1:1").address == "127.0.0.1"
    assert ask(linux(), home).address is None


def test_free_room_is_read(home: NodeHome) -> None:
    assert ask(linux(), home).free_bytes == 310_000_000 * 1024
    assert ask(mac(), home).free_bytes == 214_000_000 * 1024


def test_proxies_go_with_the_agent(home: NodeHome) -> None:
    machine = linux()
    machine.variables = {**machine.variables, "HTTPS_PROXY": "http://p:1", "no_proxy": "x", "SECRET": "y"}
    assert dict(ask(machine, home).carried) == {"HTTPS_PROXY": "http://p:1", "no_proxy": "x"}


def test_each_run_has_another_token_to_give(home: NodeHome) -> None:
    first, second = ask(linux(), home).new_token, ask(linux(), home).new_token
    assert first != second
    assert len(first.reveal()) >= 40


def test_asking_writes_nothing(home: NodeHome) -> None:
    for machine in (linux(), mac(), container()):
        ask(machine, home)
        assert machine.written == {}
    assert not home.folder.exists()


def test_the_wheel_is_known_by_its_hash(home: NodeHome, tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(b"wheel")
    seen = gather(linux(), Asked(home, {"listen_port": any_port()}), wheel, nobody)
    assert str(seen.wheel_sha256).startswith("ba5992")


def test_engines_are_looked_for_where_one_was_named_as_well(home: NodeHome) -> None:
    looked: list[str] = []

    def look(urls: tuple[str, ...]) -> tuple[EngineHere, ...]:
        looked.extend(urls)
        return ()

    asked = replace(Asked(home, {"listen_port": any_port()}), engine_url="http://10.0.0.9:8000")
    gather(linux(), asked, None, look)
    assert "http://10.0.0.9:8000" in looked
    assert "http://127.0.0.1:11434" in looked


@contextmanager
def running(home: NodeHome, *words: str) -> Iterator[int]:
    """Run a program with these words behind it, and have the folder name it; gives its process once it runs."""
    command = [sys.executable, "-c", "print(flush=True); input()", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        agent.stdout.readline()  # before that the system may have no command line of it yet
        home.status.write_text(f'{{"pid": {agent.pid}}}')
        yield agent.pid
        agent.communicate(b"\n")


def test_an_agent_in_a_deep_folder_is_known_on_a_narrow_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    home = NodeHome(tmp_path)
    with running(home, "x" * 200, "ktms-node") as pid:
        assert agent_pid(ThisMachine(), home) == pid


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of processes in files")
def test_an_agent_is_known_where_there_is_no_ps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = NodeHome(tmp_path)
    with running(home, "/home/anna/.ktms/venv/bin/ktms-node", "run") as pid:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert agent_pid(ThisMachine(), home) == pid


def test_a_variable_with_a_line_break_does_not_get_into_a_service(home: NodeHome) -> None:
    machine = linux()
    machine.variables = {**machine.variables, "HTTPS_PROXY": "http://p\nExecStart=/bin/sh", "no_proxy": "x"}
    assert dict(ask(machine, home).carried) == {"no_proxy": "x"}


@pytest.mark.parametrize(
    ("names", "not_ours"),
    [
        ((), ()),
        (("venv", "programs"), ()),
        (("photos",), ()),
        (("photos", "venv", "logs"), ("logs", "venv")),
        (("photos", "venv", "node.json"), ()),
    ],
)
def test_what_somebody_else_keeps_where_ours_would_lie_is_seen(
    home: NodeHome, names: tuple[str, ...], not_ours: tuple[str, ...]
) -> None:
    home.folder.mkdir()
    for name in names:
        (home.folder / name).touch()
    assert ask(linux(), home).not_ours == not_ours
