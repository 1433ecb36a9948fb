"""Processes of a machine, as `ps` lists them."""

from ktms.node.engines.processes import PS, Process, listening_at, processes
from ktms.node.machine import Ran
from tests.node.engines.recorded_machine import RecordedMachine


def process(command: str, pid: int = 7) -> Process:
    return Process(pid, 1, tuple(command.split()))


def test_the_wanted_ones_are_listed() -> None:
    machine = RecordedMachine()
    machine.runs("  12     1 /opt/llama/llama-server -np 4", " 13 12 sleep 9", "bad line", "14 1")
    assert processes(machine, lambda one: one.program == "llama-server") == (
        Process(12, 1, ("/opt/llama/llama-server", "-np", "4")),
    )


def test_without_ps_nothing_is_known() -> None:
    machine = RecordedMachine()
    assert processes(machine, lambda _: True) == ()
    machine.says[" ".join(PS)] = Ran(124, "1 0 init")
    assert processes(machine, lambda _: True) == ()


def test_options_are_read_in_both_spellings_and_the_last_counts() -> None:
    one = process("vllm serve m --max-num-seqs 8 --max-num-seqs=16 -np")
    assert one.count("--max-num-seqs") == 16
    assert one.option("-np") is None
    assert one.option("--other") is None
    assert one.count("serve") is None


def test_a_port_tells_servers_apart() -> None:
    here, there = process("llama-server --port 8081", 1), process("llama-server", 2)
    assert listening_at((here, there), 8081, 8080) == here
    assert listening_at((here, there), 8080, 8080) == there
    assert listening_at((here, there), 9000, 8080) is None
    assert listening_at((there, there), 8080, 8080) is None
