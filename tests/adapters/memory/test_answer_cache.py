from ktms.adapters.memory.answer_cache import MemoryAnswerCache
from ktms.adapters.memory.clock import ManualClock


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


async def test_where_there_is_no_room_the_oldest_goes() -> None:
    cache = MemoryAnswerCache(ManualClock(), bytes_max=10)
    for number in range(4):
        cache.put(key(number), b"abcd", 60)
    assert [await cache.get(key(number)) for number in range(4)] == [None, None, b"abcd", b"abcd"]


async def test_what_is_larger_than_all_the_room_is_not_kept() -> None:
    cache = MemoryAnswerCache(ManualClock(), bytes_max=10)
    cache.put(key(1), b"abcd", 60)
    cache.put(key(2), b"x" * 11, 60)
    assert [await cache.get(key(number)) for number in (1, 2)] == [b"abcd", None]


async def test_an_answer_that_is_replaced_or_over_gives_its_room_back() -> None:
    clock = ManualClock()
    cache = MemoryAnswerCache(clock, bytes_max=10)
    for _ in range(5):
        cache.put(key(1), b"abcdef", 1)
    clock.advance(1)
    assert await cache.get(key(1)) is None
    cache.put(key(2), b"abcdefghij", 1)
    assert await cache.get(key(2)) == b"abcdefghij"


async def test_a_store_that_restarts_has_nothing() -> None:
    cache = MemoryAnswerCache(ManualClock(), bytes_max=10)
    cache.put(key(1), b"abcdefghij", 60)
    cache.lose()
    assert await cache.get(key(1)) is None
    cache.put(key(2), b"abcdefghij", 60)
    assert await cache.get(key(2)) is not None
