"""The simulated Redis refuses as a real one does, with its own words, and only what such a server refuses."""

import pytest

from ktms.adapters.redis.lua import read_scripts
from sim.fakes.redis.commands import Session
from sim.fakes.redis.refusals import EVICTING, EVICTS, RUNS_NO_SCRIPTS, Refusals
from sim.fakes.redis.resp import Refusal

SCRIPTS = read_scripts()


def told(refusals: Refusals, *words: str, other_port: bool = False) -> str | None:
    """Give the first word of a refusal; None: it is answered."""
    session = Session(1, trusted=True, at_other_port=other_port)
    refused = refusals.of(session, [word.encode() for word in words])
    return refused.text.split()[0].decode() if isinstance(refused, Refusal) else None


def being(kind: str, amount: float = 0.0) -> Refusals:
    refusals = Refusals()
    refusals.mode(kind, amount, on=True)
    return refusals


@pytest.mark.parametrize(
    ("kind", "words", "error"),
    [
        ("redis_readonly", ("SET", "a", "b"), "READONLY"),
        ("redis_readonly", ("EVALSHA", SCRIPTS.take.digest), "READONLY"),
        ("redis_readonly", ("EVALSHA", SCRIPTS.moment.digest), None),
        ("redis_readonly", ("GET", "a"), None),
        ("redis_full", ("SET", "a", "b"), "OOM"),
        ("redis_full", ("EVALSHA", SCRIPTS.reserve.digest), "OOM"),
        ("redis_full", ("EVALSHA", SCRIPTS.release.digest), None),
        ("redis_full", ("DEL", "a"), None),
        ("redis_moved", ("GET", "a"), "MOVED"),
        ("redis_moved", ("EVALSHA", SCRIPTS.read.digest), "MOVED"),
        ("redis_moved", ("PING",), None),
    ],
)
def test_each_server_refuses_what_it_must_and_answers_the_rest(
    kind: str, words: tuple[str, ...], error: str | None
) -> None:
    assert told(being(kind), *words) == error


def test_where_the_slot_lies_everything_is_answered() -> None:
    assert told(being("redis_moved"), "GET", "a", other_port=True) is None


def test_one_that_runs_no_scripts_refuses_whatever_is_about_them() -> None:
    refusals = being("redis_unfit", RUNS_NO_SCRIPTS)
    assert [told(refusals, name) for name in ("EVAL", "EVALSHA", "SCRIPT", "GET")] == ["NOPERM"] * 3 + [None]


def test_one_that_evicts_says_so_where_it_is_asked() -> None:
    refusals = being("redis_unfit", EVICTS)
    assert refusals.of(Session(1, trusted=True), [b"INFO", b"memory"]) == EVICTING


def test_what_is_over_refuses_nothing() -> None:
    refusals = being("redis_full")
    refusals.mode("redis_full", 0.0, on=False)
    assert told(refusals, "SET", "a", "b") is None
