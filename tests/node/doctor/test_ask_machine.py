from pathlib import Path

import pytest

from ktms.node.doctor.ask_machine import ask_machine, read_disks, read_memory, read_wishes
from ktms.node.doctor.facts import Disk
from ktms.node.engines.ollama_window import GIB
from tests.node.recordings import DF, container, linux, mac


def test_a_mac_tells_its_memory_and_disk() -> None:
    told = ask_machine(mac(), [Path("/Users/anna/.ktms")])
    assert (told.system, told.user, told.memory_bytes, told.suspends) == ("darwin", "anna", 24 * GIB, None)
    assert told.disks == (Disk("/System/Volumes/Data", 214_000_000 * 1024),)
    assert told.gpu_bytes == 16 * GIB


def test_a_linux_tells_what_is_free_and_how_often_it_slept() -> None:
    told = ask_machine(linux(), [Path("/home/anna/.ktms")])
    assert (told.memory_bytes, told.free_bytes, told.suspends) == (65_654_272 * 1024, 51_200_000 * 1024, 0)
    assert told.gpu_bytes == 24_564 * (1 << 20)


def test_a_container_without_commands_tells_what_it_can() -> None:
    machine = container()
    machine.lacks(*DF)
    told = ask_machine(machine, [Path("/root")])
    assert (told.disks, told.gpu_bytes) == ((), 0)


def test_folders_of_one_disk_are_one_disk() -> None:
    line = "/dev/disk3s5 482797652 1000 300 1% /Volumes/My Disk\n"
    assert read_disks(f"Filesystem 1024-blocks Used Available Capacity Mounted on\n{line}{line}") == (
        Disk("/Volumes/My Disk", 300 * 1024),
    )


@pytest.mark.parametrize("text", ["", "df: /x: No such file or directory\n", "MemTotal: many kB"])
def test_what_is_not_understood_is_not_known(text: str) -> None:
    assert (read_disks(text), read_memory(text)) == ((), {})


def test_only_numbers_are_wishes() -> None:
    wishes = {"OLLAMA_CONTEXT_LENGTH": "32768", "OLLAMA_NUM_PARALLEL": "many", "OTHER": "1"}
    assert read_wishes(wishes) == {"OLLAMA_CONTEXT_LENGTH": 32_768}
