"""Ollama's processes on Linux and macOS."""

import pytest

from ktms.node.engines.ollama_process import MIB, Child, OllamaProcess, gpu_bytes, look_at_processes
from ktms.node.engines.ollama_window import GIB, Serving
from ktms.node.machine import Ran
from tests.node.engines.recorded_machine import OLLAMA_PID, RecordedMachine, child

BLOB = "ab" * 32
UNIT = "systemctl show ollama --property=MainPID,Environment,EnvironmentFiles"
GPUS = "nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits"
MEMORY = "sysctl -n hw.memsize hw.optional.arm64"


def test_children_tell_their_slots_and_ports() -> None:
    machine = RecordedMachine()
    machine.runs_ollama(child(40001, slots=4), env="HOME=/u\0OLLAMA_NUM_PARALLEL=4\0OLLAMA_CONTEXT_LENGTH=8192\0")
    assert look_at_processes(machine, 11434) == OllamaProcess(
        Serving(parallel=4, context=8192), (Child(4, 40001, BLOB),)
    )


def test_what_is_not_set_is_zero_and_what_cannot_be_read_is_unknown() -> None:
    machine = RecordedMachine()
    machine.runs_ollama()
    assert look_at_processes(machine, 11434).serving == Serving(parallel=0, context=0)
    machine.runs_ollama(env=None)
    machine.files.clear()
    assert look_at_processes(machine, 11434).serving == Serving()


@pytest.mark.parametrize("value", ["-1", "four", "", "99999999999"])
def test_what_ollama_passes_over_counts_as_not_set(value: str) -> None:
    machine = RecordedMachine()
    machine.runs_ollama(env=f"HOME=/u\0OLLAMA_NUM_PARALLEL={value}\0")
    assert look_at_processes(machine, 11434).serving.parallel == 0


@pytest.mark.parametrize(
    ("said", "serving"),
    [
        (
            f'MainPID={OLLAMA_PID}\nEnvironment="OLLAMA_NUM_PARALLEL=2" PATH=/bin\nEnvironmentFiles=\n',
            Serving(parallel=2, context=0),
        ),
        (f"MainPID={OLLAMA_PID}\nEnvironment=\n", Serving(parallel=0, context=0)),
        (f"MainPID={OLLAMA_PID}\nEnvironment=\nEnvironmentFiles=/etc/ollama.env (ignore_errors=no)\n", Serving()),
        ("MainPID=1\nEnvironment=OLLAMA_NUM_PARALLEL=2\n", Serving()),
        (Ran(1), Serving()),
    ],
)
def test_the_unit_tells_of_another_users_server(said: str | Ran, serving: Serving) -> None:
    machine = RecordedMachine()
    machine.runs_ollama(env=None)
    machine.says[UNIT] = said
    assert look_at_processes(machine, 11434).serving == serving


def test_on_a_mac_the_environment_stands_behind_the_command() -> None:
    machine = RecordedMachine("darwin")
    machine.runs(f"{OLLAMA_PID} 1 /Applications/Ollama.app/Contents/Resources/ollama serve")
    line = f"ps -Eww -o command= -p {OLLAMA_PID}"
    machine.says[line] = "/Applications/Ollama.app/Contents/Resources/ollama serve HOME=/u OLLAMA_NUM_PARALLEL=3"
    assert look_at_processes(machine, None).serving == Serving(parallel=3, context=0)
    machine.says[line] = "/Applications/Ollama.app/Contents/Resources/ollama serve"
    assert look_at_processes(machine, None).serving == Serving()


def test_of_two_servers_the_port_tells_which() -> None:
    machine = RecordedMachine()
    machine.runs(
        "10 1 /usr/bin/ollama serve",
        "11 1 /home/u/ollama serve",
        f"20 10 {child(40001, slots=2)}",
        f"21 11 {child(40002, slots=8)}",
    )
    machine.files["/proc/10/environ"] = "HOME=/u\0"
    machine.files["/proc/11/environ"] = "HOME=/u\0OLLAMA_HOST=127.0.0.1:11500\0OLLAMA_NUM_PARALLEL=8\0"
    assert [one.slots for one in look_at_processes(machine, 11500).children] == [8]
    assert look_at_processes(machine, 11434).serving == Serving(parallel=0, context=0)
    assert len(look_at_processes(machine, 9).children) == 2


def test_other_servers_are_no_children() -> None:
    machine = RecordedMachine()
    machine.runs("30 1 /opt/llama-server --model /m/a.gguf -np 4", "31 1 grep ollama", "32 1 ollama run x")
    assert look_at_processes(machine, 11434) == OllamaProcess()


def test_a_runner_is_a_child_without_a_page_of_slots() -> None:
    machine = RecordedMachine()
    machine.runs_ollama("/usr/local/bin/ollama runner --mlx-engine --model gemma4 --port 40003")
    assert look_at_processes(machine, 11434).children == (Child(None, None, None),)


@pytest.mark.parametrize(
    ("system", "line", "said", "expected"),
    [
        ("linux", GPUS, "24564\n24564\n", 49_128 * MIB),
        ("linux", GPUS, "[N/A]\n", 0),
        ("linux", GPUS, Ran(127), 0),
        ("linux", GPUS, Ran(124), None),
        ("darwin", MEMORY, f"{64 * GIB}\n1\n", 48 * GIB),
        ("darwin", MEMORY, f"{24 * GIB}\n1\n", 16 * GIB),
        ("darwin", MEMORY, f"{64 * GIB}\n", 0),
        ("darwin", MEMORY, Ran(1), None),
    ],
)
def test_memory_of_gpus_is_counted_as_ollama_does(
    system: str, line: str, said: str | Ran, expected: int | None
) -> None:
    machine = RecordedMachine(system)
    machine.says[line] = said
    assert gpu_bytes(machine) == expected
