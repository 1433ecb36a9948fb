"""Each fault of an answer: what the gateway's readers make of it, what the target tells, which row it is."""

from collections.abc import Callable

import pytest

from ktms.domain.call import Route
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from tests.sim.fakes.desk import Desk, Seen, chat, whole
from tests.sim.fakes.targets import ALL, OPENAI, path_of

Make = Callable[..., Desk]

WAYS = pytest.mark.parametrize("wire", [True, False], ids=["wire", "ports"])
SEEDS = pytest.mark.parametrize("seed", range(8))
NOT_ANSWERS = {FailureKind.CLOSED, FailureKind.MALFORMED}


def spoilt(
    desk: Make, kind: str, amount: float, *, wire: bool, streamed: bool = True, seed: int = 1, tokens: int = 6
) -> tuple[Desk, Seen]:
    at = desk(OPENAI, wire=wire, seed=seed)
    at.target.fault(kind, amount, on=True)
    return at, at.post(chat(tokens=tokens) if streamed else whole(tokens=tokens))


@WAYS
@SEEDS
def test_a_cut_after_so_many_events(desk: Make, wire: bool, seed: int) -> None:
    at, seen = spoilt(desk, "cut", 3, wire=wire, seed=seed)
    assert (seen.failure, seen.stream.finished) == (FailureKind.CLOSED, False)
    told = at.told.members
    assert (told["how"], told["text"], told["visible"], told["finished"]) == ("cut", "1.1 1.2 1.3 ", True, False)
    assert at.suffered == ["FV3"]
    assert "1.1 1.2 1.3 ".startswith(seen.text)  # a reset overtakes bytes on their way


@WAYS
@SEEDS
def test_a_cut_before_anything_visible(desk: Make, wire: bool, seed: int) -> None:
    at, seen = spoilt(desk, "cut", 0, wire=wire, seed=seed)
    assert (seen.failure, seen.text) == (FailureKind.CLOSED, "")
    assert (at.told.members["how"], at.told.members["visible"], at.suffered) == ("cut", False, ["FV1"])


@WAYS
@pytest.mark.parametrize("amount", [0, 2])
def test_a_cut_of_a_whole_answer(desk: Make, wire: bool, amount: int) -> None:
    at, seen = spoilt(desk, "cut", amount, wire=wire, streamed=False)
    assert seen.failure is FailureKind.CLOSED
    assert (at.told.members["how"], at.suffered) == ("cut", ["FV1"])


def test_an_answer_shorter_than_the_events_before_a_cut_loses_its_end(desk: Make) -> None:
    at, seen = spoilt(desk, "cut", 50, wire=False)
    assert (seen.failure, seen.stream.finished) == (FailureKind.CLOSED, False)
    assert (at.told.members["finished"], at.suffered) == (False, ["FV3"])


@WAYS
def test_a_stall_runs_into_the_idle_timer(desk: Make, wire: bool) -> None:
    at, seen = spoilt(desk, "stall", 2, wire=wire)
    assert (seen.failure, seen.text) == (FailureKind.IDLE_TIMEOUT, "1.1 1.2 ")
    at.pass_s()
    assert (at.told.members["how"], at.suffered) == ("silent", ["FV4"])


@WAYS
@SEEDS
def test_a_stall_before_anything_visible_runs_into_the_first_token_timer(
    desk: Make, wire: bool, seed: int
) -> None:
    at, seen = spoilt(desk, "stall", 0, wire=wire, seed=seed)
    assert seen.failure is FailureKind.FIRST_TOKEN_TIMEOUT
    at.pass_s()
    assert (at.told.members["how"], at.suffered) == ("silent", ["FV2"])


@WAYS
def test_silence_is_told_as_silence(desk: Make, wire: bool) -> None:
    at, seen = spoilt(desk, "silent", 0, wire=wire)
    assert (seen.status, seen.failure) == (0, FailureKind.FIRST_TOKEN_TIMEOUT)
    at.pass_s()
    assert (at.told.members["how"], at.told.members["status"], at.suffered) == ("silent", 0, ["FV2"])


@pytest.mark.parametrize("kind", [name for name in ALL if name != "ollama"])
@pytest.mark.parametrize("amount", [0, 2])
@SEEDS
def test_an_error_inside_a_stream_is_understood_in_every_dialect(
    desk: Make, kind: str, amount: int, seed: int
) -> None:
    at = desk(ALL[kind], seed=seed)
    at.target.fault("error_in_200", amount, on=True)
    seen = at.post(chat(), path=path_of(ALL[kind]))
    error = seen.stream.error
    assert error is not None
    assert error.message != "the upstream gave no message"
    assert error.status in {424, 429, 500, 503} or kind in ("azure", "tgi")
    assert (seen.status, seen.stream.finished, at.suffered) == (200, False, ["FV8"])
    assert seen.text == ("1.1 1.2 " if amount else "")
    assert (at.told.members["how"], at.told.members["finished"]) == ("whole", False)


@pytest.mark.parametrize("kind", ALL)
def test_an_error_inside_a_whole_200_is_understood_in_every_dialect(desk: Make, kind: str) -> None:
    at = desk(ALL[kind])
    at.target.fault("error_in_200", 0, on=True)
    seen = at.post(whole(), path=path_of(ALL[kind]))
    assert (seen.status, at.suffered) == (200, ["FV8"])
    assert seen.whole(Route.CHAT).error is not None


@WAYS
@pytest.mark.parametrize("amount", [0, 2])
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_malformed_output_is_never_taken_for_an_answer(
    desk: Make, wire: bool, amount: int, streamed: bool, seed: int
) -> None:
    at, seen = spoilt(desk, "malformed", amount, wire=wire, streamed=streamed, seed=seed)
    if seen.observer is not None:
        assert not seen.observer.finished
        assert seen.failure in NOT_ANSWERS or seen.observer.malformed
    elif seen.failure is None:
        with pytest.raises(Exception, match=r"answer|choices"):
            assert seen.whole().finished, "no answer"
    assert at.suffered == ["FV9"]


@WAYS
def test_an_endless_event_is_left_when_it_is_too_large(desk: Make, wire: bool) -> None:
    at, seen = spoilt(desk, "endless", 0, wire=wire)
    assert seen.stream.too_large
    at.pass_s()
    assert (at.told.members["how"], at.suffered) == ("left", ["FV9"])


@WAYS
def test_an_endless_body_is_left_when_it_is_too_large(desk: Make, wire: bool) -> None:
    _, seen = spoilt(desk, "endless", 0, wire=wire, streamed=False)
    assert seen.failure is FailureKind.TOO_LARGE


@WAYS
@pytest.mark.parametrize("streamed", [True, False])
def test_a_coding_nobody_asked_for_is_refused(desk: Make, wire: bool, streamed: bool) -> None:
    at, seen = spoilt(desk, "compressed", 0, wire=wire, streamed=streamed)
    assert seen.failure is FailureKind.ENCODED
    at.pass_s()
    assert at.suffered == ["FV9"]


@WAYS
def test_a_slow_drip_comes_byte_by_byte(desk: Make, wire: bool) -> None:
    at, seen = spoilt(desk, "slow_drip", 0.01, wire=wire, tokens=2)
    assert (seen.text, seen.stream.done, at.suffered) == ("1.1 1.2 ", True, ["FV9"])
    assert seen.took_s > 0.01 * len(seen.body) * 0.99


@WAYS
def test_a_slow_drip_ends_with_the_total_timer(desk: Make, wire: bool) -> None:
    at = desk(OPENAI, wire=wire)
    at.target.fault("slow_drip", 1.0, on=True)
    seen = at.post(chat(), timers=Timers(5, 5, 900, 45, 120))
    assert seen.failure is FailureKind.TOTAL_TIMEOUT
    at.pass_s()
    assert (at.told.members["how"], at.told.members["text"]) == ("left", "")


def test_several_faults_may_be_on(desk: Make) -> None:
    at = desk(OPENAI)
    at.target.fault("slow_drip", 0.001, on=True)
    at.target.fault("cut", 2, on=True)
    seen = at.post(chat())
    assert seen.failure is FailureKind.CLOSED
    assert sorted(at.suffered) == ["FV3", "FV9"]
