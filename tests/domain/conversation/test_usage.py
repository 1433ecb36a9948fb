"""Token counts of one answer."""

from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.conversation.usage import NO_USAGE, Usage

COUNTS = st.integers(0, 1 << 53)


def test_nothing_counted_is_nothing_estimated() -> None:
    assert Usage() == NO_USAGE
    assert not NO_USAGE.estimated


def test_cached_tokens_inside_leave_the_prompt_as_it_is() -> None:
    usage = Usage.cache_inside(100, 5, cached=60, written=30, reasoning=4)
    assert usage == Usage(100, 5, cached_tokens=60, cache_write_tokens=30, reasoning_tokens=4)


def test_cached_tokens_beside_are_added_to_the_prompt() -> None:
    usage = Usage.cache_beside(10, 5, cached=60, written=30, reasoning=4)
    assert usage == Usage(100, 5, cached_tokens=60, cache_write_tokens=30, reasoning_tokens=4)


def test_a_limit_on_tokens_counts_prompt_and_completion_once() -> None:
    assert Usage.cache_beside(10, 5, cached=60, reasoning=4).tokens == 75


@given(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
def test_parts_are_never_more_than_the_whole(
    prompt: int, completion: int, cached: int, written: int, why: int
) -> None:
    usage = Usage.cache_inside(prompt, completion, cached=cached, written=written, reasoning=why)
    assert usage.cached_tokens + usage.cache_write_tokens <= usage.prompt_tokens == prompt
    assert usage.reasoning_tokens <= usage.completion_tokens == completion


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_both_ways_of_counting_the_same_answer_are_equal(
    fresh: int, completion: int, cached: int, written: int
) -> None:
    inside = Usage.cache_inside(fresh + cached + written, completion, cached=cached, written=written)
    assert Usage.cache_beside(fresh, completion, cached=cached, written=written) == inside


def test_counts_of_two_answers_add_up_and_one_estimate_makes_the_sum_one() -> None:
    total = Usage(1, 2, 3, 4, 5).plus(Usage(10, 20, 30, 40, 50, estimated=True))
    assert total == Usage(11, 22, 33, 44, 55, estimated=True)
    assert Usage(1, estimated=True).plus(Usage(2)).estimated
    assert not Usage(1).plus(Usage(2)).estimated
