import pytest

from sim.fakes.redis.keyspace import INTEGER_MAX, Keyspace, NotAnInteger


class Hands:
    """A clock moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_key_lives_as_long_as_it_was_given() -> None:
    hands = Hands()
    data = Keyspace(hands)
    data.put(b"lease", b"1", lives_ms=5000)
    hands.now += 4.999
    before = data.get(b"lease")
    hands.now += 0.001
    assert (before, data.get(b"lease")) == (b"1", None)


def test_counting_leaves_the_time_to_live_as_it_was() -> None:
    hands = Hands()
    data = Keyspace(hands)
    data.put(b"count", b"1", lives_ms=5000)
    hands.now += 1
    data.add(b"count", 4)
    assert (data.get(b"count"), data.left_ms(b"count")) == (b"5", 4000)


def test_counting_begins_anew_after_the_end() -> None:
    hands = Hands()
    data = Keyspace(hands)
    data.put(b"count", b"9", lives_ms=1000)
    hands.now += 1
    assert (data.add(b"count", 1), data.left_ms(b"count")) == (1, -1)


def test_a_new_value_stays_for_ever_unless_told_otherwise() -> None:
    data = Keyspace(Hands())
    data.put(b"key", b"1", lives_ms=1000)
    data.put(b"key", b"2")
    assert data.left_ms(b"key") == -1


@pytest.mark.parametrize("value", [b"word", b"%d" % INTEGER_MAX])
def test_only_integers_of_64_bits_are_counted_with(value: bytes) -> None:
    data = Keyspace(Hands())
    data.put(b"key", value)
    with pytest.raises(NotAnInteger):
        data.add(b"key", 1)


def test_what_is_not_there_cannot_expire() -> None:
    data = Keyspace(Hands())
    assert (data.expire(b"key", 1000), data.left_ms(b"key")) == (False, -2)


def test_clearing_deletes_everything() -> None:
    data = Keyspace(Hands())
    data.put(b"key", b"1", lives_ms=1000)
    data.clear()
    assert data.get(b"key") is None
