"""How long bytes travel, and in what pieces."""

from sim.network.link import Link
from sim.seed import Seed

CHANCE = Seed(1).chance("link")


def test_a_packet_takes_the_latency_and_at_most_the_jitter_more() -> None:
    link = Link(latency_s=0.1, jitter_s=0.02)
    drawn = [link.travel_s(CHANCE) for _ in range(200)]
    assert 0.1 <= min(drawn) < 0.105
    assert 0.115 < max(drawn) < 0.12


def test_a_thin_link_takes_one_packet_after_the_other() -> None:
    link = Link(latency_s=0.0, jitter_s=0.0, bytes_per_s=1000)
    assert [link.arrives_at(5.0, 500, CHANCE) for _ in range(3)] == [5.5, 6.0, 6.5]


def test_a_thin_link_that_was_idle_starts_afresh() -> None:
    link = Link(latency_s=0.0, jitter_s=0.0, bytes_per_s=1000)
    link.arrives_at(5.0, 500, CHANCE)
    assert link.arrives_at(9.0, 500, CHANCE) == 9.5


def test_slices_are_no_larger_than_asked_and_lose_nothing() -> None:
    data = bytes(range(256)) * 4
    pieces = Link(slice_max_bytes=7).sliced(data, CHANCE)
    assert b"".join(pieces) == data
    assert {len(piece) for piece in pieces} == {1, 2, 3, 4, 5, 6, 7}


def test_bytes_stay_whole_unless_slices_are_asked_for() -> None:
    assert Link().sliced(b"whole", CHANCE) == [b"whole"]
