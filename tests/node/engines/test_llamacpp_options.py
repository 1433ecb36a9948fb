"""Windows of slots, and what a command line says of them."""

import pytest

from ktms.node.engines.llamacpp_options import gpu_share, server_process, window_per_slot
from ktms.node.engines.processes import Process
from tests.node.engines.recorded_machine import RecordedMachine, child


def process(options: str) -> Process:
    return Process(7, 1, ("llama-server", *options.split()))


@pytest.mark.parametrize(
    ("told", "slots", "options", "window"),
    [
        (1024, 4, None, 256),
        (1024, 4, "-c 1024", 256),
        (1024, 4, "-c 4096 -np 4", 1024),
        (1024, 4, "-c 4096 --parallel 4", 1024),
        (1024, 4, "-c 1024 -np 4 -kvu", 256),
        (1024, 4, "-c 1024 -np 4 --kv-unified", 256),
        (1024, 4, "-c 1024 -np -1", 256),
        (1024, 1, None, 1024),
        (3, 4, None, 1),
        (None, 4, None, None),
        (1024, None, None, None),
    ],
)
def test_a_window_that_slots_may_share_is_divided(
    told: int | None, slots: int | None, options: str | None, window: int | None
) -> None:
    assert window_per_slot(told, slots, None if options is None else process(options)) == window


@pytest.mark.parametrize(
    ("options", "share"), [("-ngl 0", 0.0), ("--n-gpu-layers 0", 0.0), ("-ngl 99", None), ("", None)]
)
def test_no_layer_on_a_gpu_is_told(options: str, share: float | None) -> None:
    assert gpu_share(process(options)) == share


def test_without_a_command_line_nobody_knows_of_a_gpu() -> None:
    assert gpu_share(None) is None


def test_the_server_of_a_port_is_found_among_others() -> None:
    machine = RecordedMachine()
    machine.runs("10 1 /opt/llama-server --port 8081 -np 2", "11 1 /opt/llama-server", f"12 9 {child(40001)}")
    here = server_process(machine, 8081)
    assert here is not None
    assert here.pid == 10
    assert server_process(machine, 9931) is None
