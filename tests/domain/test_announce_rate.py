import pytest

from ktms.domain import announce_rate
from ktms.domain.announce_rate import ANNOUNCE_BURST_MAX, ANNOUNCES_PER_MINUTE_MAX, AnnounceRate
from ktms.domain.ids import NodeName

MAC = NodeName("mac-1")


def test_a_burst_passes_and_what_follows_at_once_waits() -> None:
    rate = AnnounceRate()
    assert [rate.wait_s(MAC, 0.0) for _ in range(ANNOUNCE_BURST_MAX)] == [0.0] * ANNOUNCE_BURST_MAX
    assert rate.wait_s(MAC, 0.0) == pytest.approx(60 / ANNOUNCES_PER_MINUTE_MAX)


def test_who_waits_as_told_passes() -> None:
    rate = AnnounceRate()
    for _ in range(ANNOUNCE_BURST_MAX):
        rate.wait_s(MAC, 0.0)
    assert rate.wait_s(MAC, rate.wait_s(MAC, 0.0)) == 0.0


def test_over_a_long_time_the_steady_rate_holds() -> None:
    rate = AnnounceRate()
    passed = sum(rate.wait_s(MAC, second / 10) == 0.0 for second in range(6000))
    assert passed == 10 * ANNOUNCES_PER_MINUTE_MAX + ANNOUNCE_BURST_MAX - 1


def test_an_agent_that_announces_as_it_should_never_waits() -> None:
    rate = AnnounceRate()
    assert not any(rate.wait_s(MAC, 30.0 * turn) for turn in range(100))


def test_one_node_costs_another_nothing() -> None:
    rate = AnnounceRate()
    for _ in range(ANNOUNCE_BURST_MAX):
        rate.wait_s(MAC, 0.0)
    assert rate.wait_s(NodeName("mac-2"), 0.0) == 0.0


def test_nodes_without_a_debt_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announce_rate, "NODES_REMEMBERED_MAX", 2)
    rate = AnnounceRate()
    for name, now in (("a", 0.0), ("b", 1000.0), ("c", 1000.0)):
        rate.wait_s(NodeName(name), now)
    assert set(rate._due) == {"b", "c"}
