"""I6: revoked and unknown keys are refused in time, good ones never."""

from sim.checkers.i6_keys import check
from tests.sim.checkers.story import Story, said


def made() -> Story:
    return Story().note("key_made", "postgres", key="key-id", name="app")


def revoked(at: float) -> Story:
    return made().at(at).note("key_revoked", "postgres", key="key-id", heard=False)


def used(story: Story, at: float) -> Story:
    story.at(at).sent().asked().told().begun()
    return story.ended()


def refused(story: Story, at: float, **different: str | int) -> Story:
    return story.at(at).sent().ended(outcome="error", status=401, code="invalid_api_key", text="", **different)


def test_a_good_key_works() -> None:
    assert said(check, used(made(), 10)) == []


def test_a_world_without_keys_has_nothing_to_break() -> None:
    assert said(check, used(Story(), 10)) == []


def test_a_good_key_that_is_refused_is_found() -> None:
    assert said(check, refused(made(), 10)) == ["gw1 refused key app, which is good"]


def test_a_key_may_be_unknown_for_a_moment_after_it_was_made() -> None:
    assert said(check, refused(made(), 1)) == []


def test_a_key_nobody_made_must_be_refused() -> None:
    story = made().at(10).sent(key="stranger").asked().told().begun().ended()
    assert said(check, story) == [
        "gw1 asked cloud-a for key stranger, which nobody made, in a call sent at 10.000 s"
    ]


def test_a_key_nobody_made_gets_no_200_either() -> None:
    story = made().at(10).sent(key="stranger").begun().ended()
    assert said(check, story) == ["gw1 answered key stranger, which nobody made, with 200"]


def test_a_revoked_key_may_live_for_some_seconds() -> None:
    assert said(check, used(revoked(100), 109)) == []


def test_a_revoked_key_that_lives_on_is_found() -> None:
    assert len(said(check, used(revoked(100), 116))) == 1


def test_a_revoked_key_is_rightly_refused() -> None:
    assert said(check, refused(revoked(100), 116)) == []


def test_a_revoked_key_may_live_for_the_window_while_the_database_is_away() -> None:
    story = revoked(100).fault("postgres_away")
    assert said(check, used(story, 390)) == []


def test_no_key_lives_beyond_the_window() -> None:
    story = revoked(100).fault("postgres_away")
    assert len(said(check, used(story, 406))) == 1


def test_a_window_that_was_set_shorter_counts() -> None:
    story = revoked(100).setting("key_window_s", 20.0).fault("postgres_hung")
    assert len(said(check, used(story, 126))) == 1
