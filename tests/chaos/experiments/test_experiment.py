from tests.chaos.experiments.story import RunStory


def test_a_run_that_never_failed_afterwards_had_nothing_to_recover_from() -> None:
    story = RunStory()
    story.call(15.0, "error", status=503)
    story.call(21.0)
    assert story.over().recovered_s == 0.0


def test_recovery_is_over_with_the_second_of_the_last_call_that_failed() -> None:
    story = RunStory()
    story.call(22.4, "error", status=503)
    story.call(24.0)
    assert story.over().recovered_s == 3.0


def test_who_is_over_a_limit_has_not_failed() -> None:
    story = RunStory()
    story.call(22.4, "error", status=429)
    assert story.over().recovered_s == 0.0


def test_calls_are_measured_before_during_and_after() -> None:
    story = RunStory()
    story.call(5.0)
    for at in (10.5, 11.0, 19.0):
        story.call(at)
    story.call(30.0)
    broken = story.over()
    assert (broken.before.calls, broken.during.calls, broken.after(5.0).calls) == (1, 3, 1)
    assert broken.between(0.0, 2.0).calls == 2
