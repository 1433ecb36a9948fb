import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.draft import CallDraft, Draft
from sim.edit import AS_DRAWN, NO_EDIT, Edit, read_edit
from sim.faults.plan import KINDS, Fault, PlanInvalid

SECONDS = st.floats(min_value=0, max_value=1000, allow_nan=False)
FAULTS = st.builds(Fault, st.sampled_from(sorted(KINDS)), st.text(max_size=8), SECONDS, SECONDS, SECONDS)
EDITS = st.builds(
    Edit,
    faults=st.none() | st.lists(FAULTS, max_size=5).map(tuple),
    calls=st.none() | st.lists(st.integers(0, 99), max_size=5).map(tuple),
    noise=st.none() | st.floats(0, 1),
)

DRAWN = Draft(calls=(CallDraft(0.0), CallDraft(1.0)), faults=(Fault("silent", "cloud-a", 1.0, 2.0),))


@given(EDITS)
def test_an_edit_comes_back_from_its_word(edit: Edit) -> None:
    assert read_edit(edit.word()) == edit


@given(EDITS)
def test_the_word_of_an_edit_has_no_blanks(edit: Edit) -> None:
    assert len(edit.word().split()) == 1


def test_no_edit_is_a_dash() -> None:
    assert (NO_EDIT.word(), read_edit(AS_DRAWN)) == ("-", NO_EDIT)


def test_no_edit_leaves_a_world_as_it_was_drawn() -> None:
    assert NO_EDIT.applied(DRAWN) == DRAWN


def test_an_edit_replaces_the_fault_plan() -> None:
    assert Edit(faults=()).applied(DRAWN).faults == ()


def test_an_edit_sets_the_noise_and_no_other_knob() -> None:
    edited = Edit(noise=0.0).applied(DRAWN)
    assert (edited.knobs.noise, edited.knobs.idle_s) == (0.0, DRAWN.knobs.idle_s)


def test_an_edit_says_which_calls_are_made() -> None:
    assert [Edit(calls=(0, 2)).makes(number) for number in range(3)] == [True, False, True]


def test_without_a_list_every_call_is_made() -> None:
    assert NO_EDIT.makes(10**6)


@pytest.mark.parametrize("word", ["", "hello", "eJw", "%%%", Edit(noise=0.5).word()[:-3]])
def test_a_garbled_word_is_refused(word: str) -> None:
    with pytest.raises(PlanInvalid, match="garbled"):
        read_edit(word)


def test_a_fault_of_another_release_is_refused_by_its_name() -> None:
    word = Edit(faults=(Fault("earthquake", "", 1.0),)).word()
    with pytest.raises(PlanInvalid, match="earthquake"):
        read_edit(word)
