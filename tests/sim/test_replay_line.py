import pytest

from sim.edit import NO_EDIT
from sim.faults.plan import PlanInvalid
from sim.replay_line import LineInvalid, ReplayLine, read_line
from sim.seed import SeedInvalid
from tests.sim.outcomes import SOUND


def test_a_line_gives_back_the_run() -> None:
    assert read_line(SOUND.line("abc")) == ReplayLine("abc", "explore", 7, NO_EDIT, SOUND.hash)


def test_a_line_is_found_in_a_line_of_a_log() -> None:
    assert read_line(f"12:01 worker 3 | {SOUND.line('abc')}  (see above)").seed == 7


def test_a_line_may_have_been_folded() -> None:
    assert read_line(SOUND.line("abc").replace(" ", "\n  ")).scenario == "explore"


def test_a_line_without_a_hash_is_enough() -> None:
    assert read_line("KTMS_SIM=abc seed=0x2a scenario=explore plan=-").hash == ""


@pytest.mark.parametrize("text", ["", "seed=7", "KTMS_SIM=abc seed=7 plan=-"])
def test_what_is_no_line_is_told_what_one_looks_like(text: str) -> None:
    with pytest.raises(LineInvalid, match="seed=<n> scenario=<id> plan=<word>"):
        read_line(text)


def test_a_line_with_a_bad_seed_says_so() -> None:
    with pytest.raises(SeedInvalid, match="seven"):
        read_line("KTMS_SIM=abc seed=seven scenario=explore plan=- hash=0")


def test_a_line_cut_off_in_its_plan_says_so() -> None:
    with pytest.raises(PlanInvalid, match="copy the whole line"):
        read_line("KTMS_SIM=abc seed=7 scenario=explore plan=eJwz")
