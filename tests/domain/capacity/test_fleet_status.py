"""The figures of a fleet are values: equal where they say the same, and nobody changes them."""

from dataclasses import FrozenInstanceError

import pytest

from ktms.domain.capacity.fleet_status import FleetStatus, NodeStatus, QueueStatus, SeatStatus
from ktms.domain.ids import ModelName, NodeName, VendorModel


def status(*, busy: int = 1) -> FleetStatus:
    seat = SeatStatus(VendorModel("qwen3:4b"), 8192, cold=False, speed=1.0)
    node = NodeStatus(NodeName("mac-1"), "ollama", "healthy", draining=False, busy=busy, slots=2, seats=(seat,))
    queue = QueueStatus(ModelName("small"), waiting=0, slots=2, busy=busy, holding_s=10.0, forecast_s=0.0)
    return FleetStatus(known=True, nodes=(node,), queues=(queue,))


def test_the_same_fleet_is_told_the_same() -> None:
    assert status() == status()


def test_another_count_is_another_status() -> None:
    assert status(busy=2) != status()


def test_nobody_changes_what_was_told() -> None:
    with pytest.raises(FrozenInstanceError):
        status().known = False  # type: ignore[misc]


def test_what_was_not_measured_is_not_zero() -> None:
    [node] = status().nodes
    [seat] = node.seats
    assert (node.engine_calls, node.kv_used) == (None, None)
    assert (seat.prefill_tokens_per_s, seat.decode_tokens_per_s, seat.samples) == (None, None, 0)
