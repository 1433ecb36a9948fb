"""Who listens on a port, told from the files of the kernel: those of this machine, and some made for the test."""

import os
import socket
from pathlib import Path

import pytest

from ktms.adapters.system.port_owner import port_owner

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
LISTEN, ESTABLISHED = "0A", "01"


def row(port: int, state: str, inode: int, address: str = "0100007F") -> str:
    rest = f"00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 100 0 0 10 0"
    return f"   0: {address}:{port:04X} 00000000:0000 {state} {rest}\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "net").mkdir()
    process = tmp_path / "123"
    (process / "fd").mkdir(parents=True)
    (process / "comm").write_text("nginx\n")
    (process / "fd" / "4").symlink_to("socket:[777]")
    (process / "fd" / "5").symlink_to("/dev/null")
    (tmp_path / "self").mkdir()
    return tmp_path


def tables(proc: Path, tcp: str, tcp6: str = "") -> None:
    (proc / "net" / "tcp").write_text(HEADER + tcp)
    (proc / "net" / "tcp6").write_text(HEADER + tcp6)


def test_a_program_of_this_machine_is_named() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        owner = port_owner(listener.getsockname()[1])
    assert owner is not None
    assert owner.endswith(f"(pid {os.getpid()})")


def test_a_free_port_has_no_owner(proc: Path) -> None:
    tables(proc, row(9000, LISTEN, 777))
    assert port_owner(9001, proc) is None


def test_the_owner_is_named_with_its_number(proc: Path) -> None:
    tables(proc, row(9000, LISTEN, 777))
    assert port_owner(9000, proc) == "nginx (pid 123)"


def test_a_listener_on_the_newer_protocol_is_found(proc: Path) -> None:
    tables(proc, "", row(9000, LISTEN, 777, address="0" * 32))
    assert port_owner(9000, proc) == "nginx (pid 123)"


def test_a_connection_from_that_port_is_no_listener(proc: Path) -> None:
    tables(proc, row(9000, ESTABLISHED, 777))
    assert port_owner(9000, proc) is None


def test_a_listener_of_somebody_whose_files_we_may_not_see_stays_unknown(proc: Path) -> None:
    tables(proc, row(9000, LISTEN, 778))
    assert port_owner(9000, proc) is None


def test_a_process_that_has_just_ended_is_passed_over(proc: Path) -> None:
    tables(proc, row(9000, LISTEN, 777))
    (proc / "100").mkdir()
    assert port_owner(9000, proc) == "nginx (pid 123)"


def test_a_process_that_ends_while_it_is_asked_for_its_name_is_a_process(proc: Path) -> None:
    tables(proc, row(9000, LISTEN, 777))
    (proc / "123" / "comm").unlink()
    assert port_owner(9000, proc) == "a process (pid 123)"


def test_where_the_kernel_tells_nothing_nobody_is_named(tmp_path: Path) -> None:
    assert port_owner(9000, tmp_path) is None
