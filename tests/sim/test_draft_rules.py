"""A draft with a typing mistake is refused: it would be a world without its fault, and would pass."""

from dataclasses import replace

import pytest

from sim.draft import CallDraft, Draft, KeyDraft, Level, LimitsDraft, PriceDraft
from sim.draft_rules import complaints
from sim.faults.plan import Fault
from sim.run import run
from tests.sim.worlds import plain

GOOD = Fault("status", "cloud-a", 1.0, 2.0, 503.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "statuss"}, "there is no fault 'statuss'"),
        ({"target": "cloud-z"}, "this world has 'cloud-a', 'cloud-b'"),
        ({"kind": "crash", "target": "gw9"}, "aimed at 'gw9'"),
        ({"kind": "postgres_away", "target": "gw1"}, "aimed at 'gw1'"),
        ({"kind": "redis_slow", "target": "gw1"}, "aimed at 'gw1'"),
        ({"kind": "evicted", "target": "cloud-a", "amount": 5.0}, "aimed at 'cloud-a'"),
        ({"lasts_s": 0.0}, "has no duration"),
        ({"amount": 200.0}, "has amount 200"),
        ({"at_s": 100.0}, "this world runs for 60 s"),
    ],
)
def test_a_fault_that_could_do_nothing_is_named(change: dict[str, object], says: str) -> None:
    (complaint,) = complaints(Draft(faults=(replace(GOOD, **change),)))  # type: ignore[arg-type]  # members by name
    assert says in complaint


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"key": "nobody"}, "is by key 'nobody'"),
        ({"gateway": 5}, "goes to gateway 5; this world has 1"),
        ({"route": "images"}, "takes route 'images'"),
        ({"placement": "mars"}, "has placement 'mars'"),
    ],
)
def test_a_call_that_nobody_could_make_is_named(change: dict[str, object], says: str) -> None:
    call = replace(CallDraft(0.0), **change)  # type: ignore[arg-type]  # members by name
    (complaint,) = complaints(Draft(calls=(call,)))
    assert says in complaint


def test_a_fault_of_bytes_means_nothing_at_the_ports() -> None:
    thin = Fault("thin_link", "cloud-a", 1.0, 2.0, 500.0)
    assert list(complaints(Draft(faults=(thin,)))) == []
    (complaint,) = complaints(Draft(level=Level.PORTS, faults=(thin,)))
    assert "use WIRE" in complaint


def test_a_request_target_of_its_own_means_nothing_at_the_ports() -> None:
    odd = (CallDraft(0.0, path="/api/delete"),)
    assert list(complaints(Draft(calls=odd))) == []
    (complaint,) = complaints(Draft(level=Level.PORTS, calls=odd))
    assert "use WIRE" in complaint


def test_a_wrong_draft_is_not_run() -> None:
    outcome = run(plain(draft=Draft(faults=(replace(GOOD, target="cloud-z"),))), 1).outcome
    assert "the draft of scenario 'plain' is wrong" in outcome.broken
    assert outcome.simulated_s == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prices": (PriceDraft("cloud-z", 1, 1),)}, "a price is that of 'cloud-z'"),
        ({"prices": (PriceDraft("cloud-a", 1, 20_000),)}, "is no number from 0 to 10000"),
        ({"team": LimitsDraft(rpm=-1)}, "the team has rpm -1"),
        ({"keys": (KeyDraft("app", limits=LimitsDraft(day=5)),)}, "nothing has a price"),
    ],
)
def test_money_that_means_nothing_is_named(change: dict[str, object], says: str) -> None:
    (complaint,) = complaints(replace(Draft(), **change))  # type: ignore[arg-type]  # members by name
    assert says in complaint
