import pytest

from ktms.node.filter.body_room import BodyRoom


def test_the_room_is_shared_and_never_overfull() -> None:
    room = BodyRoom(100)
    with room.share() as first, room.share() as second:
        assert (first.take(60), second.take(60), second.take(40)) == (True, False, True)
        assert room.taken == 100


def call_that_breaks(room: BodyRoom) -> None:
    with room.share() as share:
        assert share.take(60)
        assert share.take(30)
        raise ConnectionResetError


def test_what_a_call_took_is_given_back_at_its_end_however_it_ends() -> None:
    room = BodyRoom(100)
    with pytest.raises(ConnectionResetError):
        call_that_breaks(room)
    assert room.taken == 0
