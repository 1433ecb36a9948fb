from ktms.adapters.redis.chunks import chunks


def test_pieces_are_full_but_the_last_and_keep_the_order() -> None:
    assert [list(piece) for piece in chunks(range(5), 2)] == [[0, 1], [2, 3], [4]]


def test_nothing_has_no_pieces() -> None:
    assert list(chunks([])) == []
