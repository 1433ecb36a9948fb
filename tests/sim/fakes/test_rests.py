"""How rests are told, as the product reads them."""

from collections.abc import Callable

import pytest

from ktms.domain.routing.retry_after import retry_after_s
from sim.fakes.rests import ABSURD, REST_MAX_S, Headers, any_rest, rest_of
from sim.seed import Seed
from tests.sim.fakes.desk import Desk, whole
from tests.sim.fakes.targets import OPENAI

NOW = 1_790_000_000.0


def read(headers: Headers) -> float | None:
    return retry_after_s({name.lower(): value for name, value in headers}.get, NOW)


@pytest.mark.parametrize("seconds", [1.0, 7.0, 90.0])
def test_every_way_of_saying_it_is_understood(seconds: float) -> None:
    told = [rest_of(seconds, Seed(seed).chance(), lambda: NOW) for seed in range(40)]
    assert {read(headers) for headers in told} == {seconds}
    assert {name for headers in told for name, _ in headers} == {"Date", "Retry-After", "retry-after-ms"}
    assert any("GMT" in value for headers in told for _, value in headers)


def test_parts_of_a_second_are_told_in_milliseconds() -> None:
    assert {read(rest_of(0.25, Seed(seed).chance(), None)) for seed in range(9)} == {0.25}


def test_a_target_without_a_clock_names_no_dates() -> None:
    told = [any_rest(Seed(seed).chance(), None) for seed in range(300)]
    values = {value for headers in told for _, value in headers}
    assert [value for value in values if "GMT" in value and value not in ABSURD] == []


def test_rests_are_missing_sensible_or_absurd() -> None:
    told = [any_rest(Seed(seed).chance(), lambda: NOW) for seed in range(300)]
    assert () in told
    assert {headers[0][1] for headers in told if headers} >= set(ABSURD)
    sensible = [read(headers) for headers in told if headers and headers[0][1] not in ABSURD]
    assert all(rest is not None and 1 <= rest <= REST_MAX_S for rest in sensible)


@pytest.mark.parametrize(("amount", "rest_s"), [(9.0, 9.0), (0.0, None)])
def test_a_target_that_is_rate_limited_says_how_long(
    desk: Callable[..., Desk], amount: float, rest_s: float | None
) -> None:
    at = desk(OPENAI)
    at.target.fault("rate_limited", amount, on=True)
    seen = at.post(whole())
    assert (seen.status, retry_after_s(seen.header, 0.0), at.suffered) == (429, rest_s, ["FV7"])
