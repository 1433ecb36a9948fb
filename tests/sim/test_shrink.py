import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.draft import CallDraft, Draft, Knobs
from sim.edit import NO_EDIT, Edit
from sim.faults.plan import Fault
from sim.shrink import Shrunk, Step, shrink, smallest

DRAWN = Draft(
    calls=tuple(CallDraft(float(number)) for number in range(30)),
    faults=(
        Fault("crash", "gw1", 3.25, 4.0),
        Fault("silent", "cloud-a", 7.5, 12.0),
        Fault("status", "cloud-b", 9.0, 8.0, 599.0),
        Fault("postgres_away", "", 20.5, 30.0),
    ),
    knobs=Knobs(noise=0.2),
)


def shrunk(fails: Callable[[Draft, Edit], bool], *, edit: Edit = NO_EDIT, attempts_max: int = 2000) -> Shrunk:
    return shrink(DRAWN, edit, lambda each: fails(each.applied(DRAWN), each), attempts_max=attempts_max)


def kinds(draft: Draft) -> set[str]:
    return {fault.kind for fault in draft.faults}


@given(st.sets(st.integers(0, 40)), st.integers(1, 41))
def test_exactly_what_a_failure_needs_is_left(needed: set[int], count: int) -> None:
    things = range(max(count, *needed, 0) + 1)
    assert set(smallest(things, lambda some: needed <= set(some))) == needed


def test_nothing_can_be_left_out_of_what_is_left() -> None:
    def fails(some: Sequence[int]) -> bool:
        return sum(some) > 20  # many sets would do

    left = smallest(range(12), fails)
    assert not any(fails([*left[:at], *left[at + 1 :]]) for at in range(len(left)))


def test_a_failure_that_needs_nothing_is_asked_for_nothing_first() -> None:
    asked: list[Sequence[int]] = []

    def fails(some: Sequence[int]) -> bool:
        asked.append(some)
        return True

    smallest(range(50), fails)
    assert asked == [()]


def test_faults_that_do_not_matter_are_left_out() -> None:
    found = shrunk(lambda draft, _: "silent" in kinds(draft))
    assert found.edit.faults is not None
    assert [fault.kind for fault in found.edit.faults] == ["silent"]


def test_a_fault_that_matters_becomes_as_mild_as_it_may() -> None:
    def fails(draft: Draft, _: Edit) -> bool:
        return any(fault.kind == "silent" and fault.lasts_s > 2.0 for fault in draft.faults)

    (fault,) = shrunk(fails).edit.faults or ()
    assert (2.0 < fault.lasts_s <= 4.0, fault.at_s) == (True, 7.0)


def test_calls_that_do_not_matter_are_left_out() -> None:
    found = shrunk(lambda _, edit: edit.makes(4) and edit.makes(17))
    assert found.edit.calls == (4, 17)


def test_noise_goes_where_it_does_not_matter() -> None:
    assert shrunk(lambda draft, _: "crash" in kinds(draft)).edit.noise == 0.0


def test_noise_stays_where_it_matters() -> None:
    assert shrunk(lambda draft, _: draft.knobs.noise > 0).edit.noise is None


def test_what_calls_allow_is_left_out_of_the_faults_in_another_round() -> None:
    def fails(draft: Draft, edit: Edit) -> bool:
        # With other calls around, the crash is needed as well.
        needed = {"silent"} if edit.calls == (4,) else {"silent", "crash"}
        return edit.makes(4) and needed <= kinds(draft)

    assert kinds(shrunk(fails).edit.applied(DRAWN)) == {"silent"}


def test_an_edit_that_is_small_already_is_where_it_begins() -> None:
    edit = Edit(faults=DRAWN.faults[1:2], calls=(4,))
    found = shrunk(lambda draft, each: "silent" in kinds(draft) and each.makes(4), edit=edit)
    assert found.edit.calls == (4,)


def test_no_world_is_run_twice() -> None:
    asked: list[str] = []

    def fails(draft: Draft, edit: Edit) -> bool:
        asked.append(edit.word())
        return "silent" in kinds(draft) and edit.makes(3)

    shrunk(fails)
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("attempts_max", [1, 5, 9])
def test_no_more_worlds_are_run_than_allowed(attempts_max: int) -> None:
    count = itertools.count()
    found = shrunk(lambda draft, _: next(count) >= 0 and "silent" in kinds(draft), attempts_max=attempts_max)
    assert (next(count), found.attempts, found.whole) == (attempts_max, attempts_max, False)


def test_what_is_found_when_attempts_run_out_still_fails() -> None:
    def fails(draft: Draft, edit: Edit) -> bool:
        return "silent" in kinds(draft) and edit.makes(3)

    found = shrunk(fails, attempts_max=7)
    assert fails(found.edit.applied(DRAWN), found.edit)


def test_each_attempt_is_told_of() -> None:
    steps: list[Step] = []
    found = shrink(DRAWN, NO_EDIT, lambda _: True, attempts_max=50, heard=steps.append)
    assert [step.attempts for step in steps] == list(range(1, found.attempts + 1))


def test_a_world_that_fails_with_nothing_in_it_becomes_empty() -> None:
    found = shrunk(lambda *_: True)
    assert (found.edit, found.whole) == (Edit(faults=(), calls=(), noise=0.0), True)


def test_a_world_drawn_without_noise_keeps_its_words_short() -> None:
    still = replace(DRAWN, knobs=Knobs(noise=0.0))
    assert shrink(still, NO_EDIT, lambda _: True, attempts_max=50).edit.noise is None
