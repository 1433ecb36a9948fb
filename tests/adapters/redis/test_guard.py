from ktms.adapters.redis.guard import Guard


def after(failures: int) -> Guard:
    guard = Guard(errors_max=3, silence_s=2.0)
    for number in range(failures):
        guard.failed(100.0 + number)
    return guard


def test_two_failures_in_a_row_are_a_hiccup() -> None:
    assert not after(2).silenced


def test_three_failures_in_a_row_silence_and_a_trial_follows_after_two_seconds() -> None:
    guard = after(3)
    assert (guard.silenced, guard.trial_at) == (True, 104.0)


def test_a_success_between_failures_starts_the_count_anew() -> None:
    guard = after(2)
    guard.succeeded()
    guard.failed(103.0)
    guard.failed(104.0)
    assert not guard.silenced


def test_a_trial_that_fails_silences_for_as_long_again() -> None:
    guard = after(3)
    guard.failed(104.1)
    assert guard.trial_at == 106.1


def test_a_trial_that_succeeds_puts_redis_to_use_again() -> None:
    guard = after(3)
    guard.succeeded()
    guard.failed(105.0)
    assert not guard.silenced
