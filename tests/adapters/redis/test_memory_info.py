import pytest

from ktms.adapters.redis.memory_info import is_nearly_full, read_info


def told(used: int, most: int, policy: str = "noeviction") -> dict[str, str]:
    return read_info(f"# Memory\r\nused_memory:{used}\r\nmaxmemory:{most}\r\nmaxmemory_policy:{policy}\r\n")


def test_a_server_that_lets_nothing_go_is_nearly_full_at_four_fifths() -> None:
    assert not is_nearly_full(told(800, 1000))
    assert is_nearly_full(told(801, 1000))


@pytest.mark.parametrize(
    "info",
    [
        told(900, 0),
        told(900, 1000, "volatile-ttl"),
        {},
        {"maxmemory": "1", "maxmemory_policy": "noeviction"},
        {"maxmemory": "x", "used_memory": "2", "maxmemory_policy": "noeviction"},
    ],
)
def test_what_has_no_bound_or_makes_room_or_says_nothing_is_not(info: dict[str, str]) -> None:
    assert not is_nearly_full(info)
