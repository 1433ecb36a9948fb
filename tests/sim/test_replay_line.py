import pytest

from sim.edit import NO_EDIT
from sim.faults.plan import PlanInvalid
from sim.replay_line import LineInvalid, ReplayLine, read_line
from sim.seed import SeedInvalid
from tests.sim.outcomes import SOUND


def test_a_line_gives_back_the_run() -> None:
    assert read_line(SOUND.line("abc")) == ReplayLine("abc", "explore-ports", 7, NO_EDIT, SOUND.hash)


def test_a_line_is_found_in_a_line_of_a_log() -> None:
    assert read_line(f"12:01 worker 3 | {SOUND.line('abc')}  (see above)").seed == 7


def test_a_line_may_have_been_folded() -> None:
    assert read_line(SOUND.line("abc").replace(" ", "\n  ")).scenario == "explore-ports"


def test_the_hash_of_a_run_without_an_end_is_a_dash() -> None:
    assert read_line("KTMS_SIM=abc seed=0x2a scenario=explore-ports plan=- hash=-").hash == "-"


@pytest.mark.parametrize("part", SOUND.line("abc").split())
def test_a_part_that_is_missing_is_named(part: str) -> None:
    name = part.partition("=")[0]
    with pytest.raises(LineInvalid, match=f"the replay line lacks {name}=<"):
        read_line(SOUND.line("abc").replace(part, ""))


@pytest.mark.parametrize("told", ["0", "--", SOUND.hash[:-1], f"{SOUND.hash}0", SOUND.hash.replace("a", "g")])
def test_what_is_no_hash_is_refused(told: str) -> None:
    with pytest.raises(LineInvalid, match=f"'{told}' is no hash"):
        read_line(f"KTMS_SIM=abc seed=7 scenario=explore-ports plan=- hash={told}")


@pytest.mark.parametrize("text", ["", "seed=7", "KTMS_SIM=abc seed=7 plan=-"])
def test_what_is_no_line_is_told_what_one_looks_like(text: str) -> None:
    with pytest.raises(LineInvalid, match="seed=<n> scenario=<id> plan=<word>"):
        read_line(text)


def test_a_line_with_a_bad_seed_says_so() -> None:
    with pytest.raises(SeedInvalid, match="seven"):
        read_line("KTMS_SIM=abc seed=seven scenario=explore-ports plan=- hash=-")


def test_a_line_cut_off_in_its_plan_says_so() -> None:
    with pytest.raises(PlanInvalid, match="copy the whole line"):
        read_line("KTMS_SIM=abc seed=7 scenario=explore-ports plan=eJwz hash=-")
