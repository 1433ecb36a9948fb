"""Hashes as the twins use them."""

from sim.fakes.redis.hashes import Hashes


class Clock:
    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        return self.ms


def test_a_field_is_there_until_it_is_removed_and_a_hash_until_it_is_empty() -> None:
    hashes = Hashes(Clock().now_ms)
    hashes.put(b"h", b"a", b"1")
    hashes.put(b"h", b"b", b"2")
    assert hashes.items(b"h") == [(b"a", b"1"), (b"b", b"2")]
    assert hashes.remove(b"h", b"a") == b"1"
    assert hashes.remove(b"h", b"a") is None
    assert hashes.delete(b"h")
    assert not hashes.delete(b"h")
    assert hashes.get(b"h", b"b") is None


def test_a_hash_ends_by_its_time_and_one_that_comes_after_it_does_not() -> None:
    clock = Clock()
    hashes = Hashes(clock.now_ms)
    hashes.expire(b"h", 5)
    hashes.put(b"h", b"a", b"1")
    hashes.expire(b"h", 10)
    clock.ms = 9
    assert hashes.get(b"h", b"a") == b"1"
    clock.ms = 10
    assert hashes.get(b"h", b"a") is None
    hashes.put(b"h", b"b", b"2")
    clock.ms = 1000
    assert hashes.items(b"h") == [(b"b", b"2")]


def test_a_copy_changes_no_more_with_what_it_was_made_of() -> None:
    hashes = Hashes(Clock().now_ms)
    hashes.put(b"h", b"a", b"1")
    copy = hashes.copy()
    hashes.put(b"h", b"a", b"2")
    hashes.clear()
    assert copy.items(b"h") == [(b"a", b"1")]
