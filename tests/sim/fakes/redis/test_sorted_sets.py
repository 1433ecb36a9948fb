from sim.fakes.redis.sorted_sets import SortedSets


def some() -> SortedSets:
    sets = SortedSets()
    for member, score in ((b"c", 10), (b"a", 20), (b"b", 10)):
        sets.add(b"key", member, score)
    return sets


def test_members_come_by_their_scores_and_then_by_their_names() -> None:
    assert some().members(b"key") == [b"b", b"c", b"a"]


def test_a_member_added_again_has_a_new_score_and_is_not_new() -> None:
    sets = some()
    assert (sets.add(b"key", b"a", 5), sets.add(b"key", b"d", 5)) == (0, 1)
    assert (sets.score(b"key", b"a"), sets.score(b"key", b"nobody")) == (5, None)


def test_those_up_to_a_score_are_removed_it_included() -> None:
    sets = some()
    assert sets.remove_until(b"key", 10) == 2
    assert sets.members(b"key") == [b"a"]


def test_members_are_counted_all_or_above_a_score() -> None:
    assert (some().count(b"key"), some().count(b"key", above=10), some().count(b"other")) == (3, 1, 0)


def test_a_set_that_is_empty_is_none() -> None:
    sets = some()
    assert [sets.remove(b"key", member) for member in (b"a", b"b", b"c", b"c")] == [1, 1, 1, 0]
    assert not sets.delete(b"key")


def test_a_set_is_deleted_with_its_members() -> None:
    sets = some()
    assert sets.delete(b"key")
    assert sets.count(b"key") == 0


def test_clearing_deletes_all() -> None:
    sets = some()
    sets.clear()
    assert sets.members(b"key") == []
