"""Steps that are done for real below a scratch folder; systems' own words by recordings."""

import os
import signal
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ktms.node.install.actions import (
    Action,
    AwaitAnnounced,
    AwaitEngine,
    Hold,
    Linger,
    Note,
    PullModel,
    Remove,
    StartService,
    StayWith,
    StopService,
    Verify,
    WriteFile,
    WriteSettings,
)
from ktms.node.install.carry_out import Hands, carry_out
from ktms.node.install.facts import Facts, Manager
from ktms.node.install.refused import Refused
from ktms.node.machine import Machine
from ktms.node.service.background import NODE, Background
from ktms.node.settings_file import read_settings
from ktms.node.this_machine import ThisMachine
from tests.e2e.waiting import until
from tests.node.install.files import served
from tests.node.install.world import linux_facts, mac_facts
from tests.node.nodes import settings
from tests.node.recordings import LABEL, UID, RecordedMachine, linux, mac

SYSTEMCTL = ("systemctl", "--user")


class Told(list[str]):
    """What the owner was told."""


def do(*actions: Action, machine: Machine | None = None, facts: Facts | None = None) -> tuple[int, Told]:
    told = Told()
    hands = Hands(machine or ThisMachine(), facts or linux_facts(), told.append, lambda _: None)
    return carry_out(actions, hands), told


def background(tmp_path: Path, *words: str) -> Background:
    return Background(NODE, "a program", words, (("WORD", "x"),), 5, tmp_path / "logs" / "log")


def test_each_step_is_said_before_it_is_done(tmp_path: Path) -> None:
    path = tmp_path / "f"
    _, told = do(Note("one"), WriteFile(path, "text"))
    assert told == ["one", f"write {path}"]


def test_settings_are_for_their_owner_alone_and_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / ".ktms" / "node.json"
    do(WriteSettings(path, settings()))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_settings(path) == settings()


def test_a_service_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    do(WriteFile(tmp_path / "unit", "Environment=HTTPS_PROXY=http://user:secret@p\n"))
    assert stat.S_IMODE((tmp_path / "unit").stat().st_mode) == 0o600


def test_removing_takes_folders_that_are_empty_then_and_no_others(tmp_path: Path) -> None:
    kept = tmp_path / ".config" / "other"
    kept.mkdir(parents=True)
    unit = tmp_path / ".config" / "systemd" / "user" / "unit"
    unit.parent.mkdir(parents=True)
    unit.write_text("x")
    do(Remove((unit, unit.parent / "wants" / "unit"), tmp_path))
    assert sorted(path.name for path in (tmp_path / ".config").iterdir()) == ["other"]


def test_a_folder_is_removed_with_all_that_is_in_it_and_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    home = tmp_path / "home" / ".ktms"
    home.mkdir(parents=True)
    (home / "link").symlink_to(outside)
    do(Remove((home,), home.parent))
    assert (outside / "file").exists()
    assert list((tmp_path / "home").iterdir()) == []


def test_a_home_that_is_a_link_is_unlinked_alone(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".ktms").symlink_to(tmp_path / "real")
    do(Remove((tmp_path / "home" / ".ktms",), tmp_path / "home"))
    assert (tmp_path / "real").exists()


def test_what_cannot_be_written_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Refused, match="File exists"):
        do(WriteFile(tmp_path / "file" / "below", "text"))


def test_a_program_is_held_as_long_as_the_steps_last(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f'echo $$ "$WORD" > {mark}; exec tail -f /dev/null'
    ran: list[bool] = []

    class Looking(ThisMachine):
        def read(self, path: Path) -> str | None:
            if path.name == "cmdline":
                return "ktms-node run"
            until(
                lambda: mark.exists() and mark.read_text().endswith("x\n"), "the program runs with its variables"
            )
            ran.append(_runs(int(mark.read_text().split()[0])))
            return f'{{"announced": true, "pid": {os.getpid()}}}'

    do(Hold(background(tmp_path, "sh", "-c", script)), AwaitAnnounced(tmp_path / "status", 5.0), machine=Looking())
    assert set(ran) == {True}
    assert not _runs(int(mark.read_text().split()[0]))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_program_that_was_held_is_ended_when_a_step_fails(tmp_path: Path) -> None:
    program = background(tmp_path, sys.executable, "-c", "input()")
    with pytest.raises(Refused):
        do(Hold(program), WriteFile(tmp_path / "logs" / "log" / "x", ""))


def test_the_agent_in_the_foreground_gives_the_exit_code(tmp_path: Path) -> None:
    code, _ = do(Hold(background(tmp_path, "sh", "-c", "exit 3")), StayWith())
    assert code == 3


def test_signals_are_handed_on_to_the_agent_in_the_foreground(tmp_path: Path) -> None:
    def passed_over(*_: object) -> None:
        """The child asks again and again: the first time may be before anybody listens."""

    before = signal.signal(signal.SIGTERM, passed_over)
    script = "trap 'exit 7' TERM; while :; do kill -TERM $PPID; sleep 0.05; done"
    try:
        code, _ = do(Hold(background(tmp_path, "sh", "-c", script)), StayWith())
        assert (code, signal.getsignal(signal.SIGTERM)) == (7, passed_over)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_engine_that_does_not_come_up_is_given_up() -> None:
    with pytest.raises(Refused, match="no engine answers"):
        do(AwaitEngine("http://127.0.0.1:1"))


def test_a_pull_is_made(tmp_path: Path) -> None:
    with served({}, {"/api/pull": b'{"status": "success"}\n'}) as url:
        assert do(PullModel(url, "a"))[0] == 0


def test_the_gateways_verdict_becomes_the_exit_code(tmp_path: Path) -> None:
    machine = linux()
    machine.answers("/x/ktms-node", "verify", code=1, err="the gateway cannot use this node: refused\n")
    code, told = do(Verify(Path("/x/ktms-node"), tmp_path), machine=machine)
    assert (code, told[-1]) == (1, "the gateway cannot use this node: refused")


def test_on_linux_a_service_is_started_by_systemd(tmp_path: Path) -> None:
    machine = linux()
    machine.answers(*SYSTEMCTL)
    do(StartService(background(tmp_path, "/x"), tmp_path / "unit"), machine=machine)
    assert machine.asked[-1] == (*SYSTEMCTL, "restart", "ktms-node.service")


def test_on_a_mac_a_service_is_started_by_launchd(tmp_path: Path) -> None:
    machine = mac()
    machine.answers("launchctl", "print", f"gui/{UID}/{LABEL}", code=113)
    machine.answers("launchctl", "bootstrap")
    plist = tmp_path / "ktms.node.plist"
    do(StartService(background(tmp_path, "/x"), plist), machine=machine, facts=replace(mac_facts(), uid=UID))
    assert machine.asked[-1] == ("launchctl", "bootstrap", f"gui/{UID}", str(plist))


def test_a_service_that_does_not_start_is_refused_with_its_words(tmp_path: Path) -> None:
    machine = linux()
    machine.answers(*SYSTEMCTL, code=1, err="Failed to connect to bus\n")
    with pytest.raises(Refused, match="Failed to connect to bus"):
        do(StartService(background(tmp_path, "/x"), tmp_path / "unit"), machine=machine)


@pytest.mark.parametrize("manager", [Manager.SYSTEMD, Manager.LAUNCHD])
def test_a_service_is_stopped(manager: Manager) -> None:
    machine: RecordedMachine = linux() if manager is Manager.SYSTEMD else mac()
    gone: Callable[..., None] = machine.answers
    gone("launchctl", "print", f"gui/{UID}/{LABEL}", code=113)
    do(StopService(NODE, 40), machine=machine, facts=linux_facts(manager=manager, uid=UID))
    words = {" ".join(one) for one in machine.asked}
    if manager is Manager.SYSTEMD:
        assert "systemctl --user disable --now ktms-node.service" in words
        assert machine.asked[-1] == (*SYSTEMCTL, "daemon-reload")


def test_where_a_user_may_not_linger_the_line_for_an_administrator_is_told() -> None:
    machine = linux()
    machine.answers("loginctl", "enable-linger", code=1)
    code, told = do(Linger("anna"), machine=machine)
    assert code == 0
    assert told[-1].endswith("sudo loginctl enable-linger anna")
