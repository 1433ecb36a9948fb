"""Bugs that other gateways had when something beside them failed, played in worlds: X01, X02, X03.

Over real servers: the chaos suite (`redis`, `postgres`, `gateway`). X06: `test_x_probes.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from sim.draft import CallDraft, Draft, KeyDraft, Knobs, Level, LimitsDraft, NodeDraft, PriceDraft, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.books.reading import Books, answered, key_of, refused_with
from sim.scenarios.limits.reading import Quotas
from sim.scenarios.scenario import Scenario, nothing_special

SEED = 7


def played(draft: Draft) -> Books:
    """Run a world of this draft, which breaks no promise."""
    done = run(Scenario("x-case", "a case", (), lambda _: draft, nothing_special), SEED)
    assert done.outcome.ok, done.outcome
    return Books(done.journal)


def every(gap_s: float, since_s: float, until_s: float, **members: object) -> list[CallDraft]:
    count = int((until_s - since_s) / gap_s)
    at = [round(since_s + number * gap_s, 4) for number in range(count)]
    return [CallDraft(at_s=one, streamed=False, tokens=1, **members) for one in at]  # type: ignore[arg-type]  # by name


def in_order(*parts: Iterable[CallDraft]) -> tuple[CallDraft, ...]:
    return tuple(sorted((call for part in parts for call in part), key=lambda call: call.at_s))


def told(journal: Journal, name: str, **members: object) -> list[float]:
    """Give the values of a gauge, in order."""
    facts = (fact for fact in journal.of("gauge") if fact.members["name"] == name)
    return [fact.number("value") for fact in facts if members.items() <= fact.members.items()]


# X01: Redis is frozen, or answers each question two seconds late.

TIMEOUT_S, SLACK_S, SILENCE_S = 0.1, 0.05, 2.0
FOUND_OUT_S = 0.8
"""Three failures in a row, each a timeout; while a connection is made late, twice as long."""

FROZEN = Fault("redis_hung", "", 5.0, 60.0)
LATE = Fault("redis_slow", "", 5.0, 60.0, 2.0)
STARTS_S, ENDS_S = 6.0, 66.0
"""Of the fault, as the journal counts."""


@pytest.fixture(scope="module", params=[FROZEN, LATE], ids=["frozen", "late"])
def without_redis(request: pytest.FixtureRequest) -> Books:
    """A hundred calls a second when it freezes and when it goes on, and some all the while between."""
    limits = LimitsDraft(rpm=100_000, concurrent=1000, day=10_000_000)
    calls = in_order(every(0.01, 3.0, 8.0), every(0.2, 8.0, 63.0), every(0.01, 63.0, 70.0))
    return played(
        Draft(
            level=Level.WIRE,
            vendors=(VendorDraft("cloud-a", first_token_s=0.1),),
            nodes=(NodeDraft("node-1", slots=2, first_token_s=0.1),),
            keys=(KeyDraft("app", limits=limits),),
            prices=(PriceDraft("cloud-a", output=20),),
            knobs=Knobs(poll_s=1.0),
            calls=calls,
            faults=(request.param,),
            runs_s=90.0,
        )
    )


def waits(books: Books, since: float, until: float) -> list[float]:
    """Give for how long calls waited that stood in no line for a machine."""
    lined_up = {fact.text("request_id") for fact in books.journal.of("record") if fact.has("forecast_s")}
    calls = [call for call in books.sent(since, until) if call.request_id not in lined_up]
    return [waited for call in calls if (waited := books.waited_s(call)) > SLACK_S]


def test_x01_every_call_is_answered(without_redis: Books) -> None:
    assert all(answered(call) for call in without_redis.sent(0.0, 80.0))


def test_x01_nobody_waits_for_more_than_one_timeout(without_redis: Books) -> None:
    assert TIMEOUT_S - SLACK_S < max(waits(without_redis, STARTS_S, ENDS_S + 3.0)) <= TIMEOUT_S + SLACK_S


def test_x01_after_a_few_timeouts_it_is_left_alone_and_one_trial_comes_in_a_while(without_redis: Books) -> None:
    assert waits(without_redis, STARTS_S, STARTS_S + FOUND_OUT_S)
    assert len(waits(without_redis, STARTS_S + FOUND_OUT_S, ENDS_S)) <= (ENDS_S - STARTS_S) / SILENCE_S


def test_x01_readiness_says_degraded_and_why(without_redis: Books) -> None:
    looks = without_redis.told("gw1", STARTS_S + 2.0, ENDS_S)
    assert {(fact.number("status"), fact.text("state")) for fact in looks} == {(200.0, "degraded")}
    assert all("redis" in fact.text("reasons") for fact in looks)


def test_x01_metrics_tell(without_redis: Books) -> None:
    up = told(without_redis.journal, "dependency_up", label="redis")
    failures = [fact.text("failure") for fact in without_redis.journal.of("dependency_failed")]
    assert 0 in up
    assert up[-1] == 1
    assert {"timeout", "silenced"} & set(failures)


def test_x01_it_is_used_again_within_three_seconds_without_a_restart(without_redis: Books) -> None:
    journal = without_redis.journal
    for kind in ("quota_reserved", "lease_taken"):
        assert any(ENDS_S < fact.at < ENDS_S + 3.0 for fact in journal.of(kind)), kind
    assert len([*journal.of("host_up")]) == 1


def test_x01_its_counters_are_right_afterwards(without_redis: Books) -> None:
    assert Quotas(without_redis.journal).is_settled()
    assert all(
        fact.number("running") >= 0 <= fact.number("reserved") for fact in without_redis.journal.of("quota_seen")
    )


# X02: Postgres is away before a first start, under a warm cache, and for keys that nobody has used.

AWAY = Fault("postgres_away", "", 10.0, 40.0)
AWAY_FROM_S, BACK_S = 11.0, 51.0
"""As the journal counts."""

COLD_KEYS = 30
"""More than a replica has connections to Postgres."""


@pytest.fixture(scope="module")
def without_postgres() -> Books:
    """The first replica is warm; the second one starts for the first time while Postgres is away."""
    cold = [KeyDraft(f"cold-{number}") for number in range(COLD_KEYS)]
    crowd = [
        CallDraft(at_s=50.05, key=key.name, gateway=gateway, tokens=2)
        for key in cold
        for gateway in range(2)
        for _ in range(5)
    ]
    return played(
        Draft(
            level=Level.PORTS,
            replicas=2,
            vendors=(VendorDraft("cloud-a"),),
            keys=(KeyDraft("app"), *cold),
            knobs=Knobs(poll_s=0.5, key_window_s=20.0),
            calls=in_order(
                every(0.5, 1.0, 55.0, key="app"),
                every(2.0, 15.0, 49.0, key="cold-0"),
                every(2.0, 15.0, 49.0, key="stranger"),
                every(1.0, 25.0, 55.0, key="app", gateway=1),
                crowd,
            ),
            faults=(AWAY, Fault("crash", "gw2", 0.5, 15.0)),
            runs_s=70.0,
        )
    )


def at(books: Books, gateway: str, key: str, since: float, until: float) -> list[Call]:
    found = [call for call in books.sent(since, until) if call.gateway == gateway and key_of(call) == key]
    assert found
    return found


def test_x02_a_key_that_was_verified_works_for_as_long_as_is_said(without_postgres: Books) -> None:
    verified_at = without_postgres.verified_at("gw1", "app", AWAY_FROM_S + 0.1)
    warm = at(without_postgres, "gw1", "app", AWAY_FROM_S, verified_at + 19.0)
    old = at(without_postgres, "gw1", "app", verified_at + 21.0, BACK_S)
    assert all(answered(call) for call in warm)
    assert all(refused_with(call, "auth_unavailable", retry=True) for call in old)


@pytest.mark.parametrize("key", ["cold-0", "stranger"])
def test_x02_another_key_is_told_to_come_again(without_postgres: Books, key: str) -> None:
    calls = at(without_postgres, "gw1", key, AWAY_FROM_S + 1.0, BACK_S)
    assert all(refused_with(call, "auth_unavailable", retry=True) for call in calls)


def test_x02_before_its_first_start_too(without_postgres: Books) -> None:
    calls = at(without_postgres, "gw2", "app", AWAY_FROM_S, BACK_S)
    assert {call.status for call in calls} == {503}
    assert all(call.ends[0].members.get("retry_after") for call in calls)


def test_x02_a_replica_that_never_had_a_configuration_is_alive_and_not_ready(without_postgres: Books) -> None:
    looks = without_postgres.told("gw2", 24.0, BACK_S)
    assert {fact.number("status") for fact in looks} == {503.0}
    assert not [*without_postgres.journal.of("host_stopped")][1:-1]


def test_x02_nobody_is_called_unauthorised(without_postgres: Books) -> None:
    assert 401 not in {call.status for call in without_postgres.sent(AWAY_FROM_S, BACK_S)}


@pytest.mark.parametrize("gateway", ["gw1", "gw2"])
def test_x02_it_is_well_within_seconds_and_without_another_start(without_postgres: Books, gateway: str) -> None:
    calls = at(without_postgres, gateway, "app", BACK_S + 3.0, BACK_S + 6.0)
    assert all(answered(call) for call in calls)
    looks = without_postgres.told(gateway, BACK_S + 7.0, BACK_S + 15.0)
    assert {fact.number("status") for fact in looks} == {200.0}
    starts = [fact.at for fact in without_postgres.journal.of("host_up") if fact.host == gateway]
    assert max(starts) < AWAY_FROM_S + 10.0


def test_x02_cold_keys_are_looked_up_once_each(without_postgres: Books) -> None:
    for number in range(COLD_KEYS):
        name = without_postgres.key_ids[f"cold-{number}"]
        lookups = [
            asking
            for asking in without_postgres.askings
            if asking.host == "gw1" and asking.ids == (name,) and asking.at > BACK_S and asking.answer == "found"
        ]
        assert len(lookups) == 1
        calls = at(without_postgres, "gw1", f"cold-{number}", BACK_S + 0.01, BACK_S + 1.0)
        assert all(answered(call) for call in calls)


def test_x02_there_are_never_more_connections_than_allowed(without_postgres: Books) -> None:
    assert all(fact.number("in_use") <= 25 for fact in without_postgres.journal.of("places_full"))


def test_x02_replicas_do_not_verify_in_step(without_postgres: Books) -> None:
    asked = {
        host: [one.at for one in without_postgres.askings if one.host == host and len(one.ids) > 1]
        for host in ("gw1", "gw2")
    }
    together = [one for one in asked["gw1"] if any(abs(one - other) < 0.05 for other in asked["gw2"])]
    assert 2 * len(together) <= len(asked["gw1"])


# X03: one replica of two is told to leave under twenty streams of a minute; the other one is the new release.

STREAMS = 20
TERM_S, DELAY_S = 11.0, 5.0
"""As the journal counts."""


def leaving(*, shutdown_s: float, fault: Fault) -> Books:
    streams = [CallDraft(at_s=0.5 + number / 50, tokens=120, usage_asked=True) for number in range(STREAMS)]
    late = every(0.5, 10.2, 30.0)
    elsewhere = every(0.5, 0.5, 80.0, gateway=1)
    return played(
        Draft(
            level=Level.WIRE,
            replicas=2,
            vendors=(),
            nodes=(NodeDraft("node-1", slots=40, first_token_s=0.3, token_s=0.5),),
            knobs=Knobs(poll_s=0.2, drain_delay_s=DELAY_S, shutdown_s=shutdown_s, sample_s=0.5),
            calls=in_order(streams, late, elsewhere),
            faults=(fault,),
            runs_s=90.0,
        )
    )


@dataclass(frozen=True, slots=True)
class Left:
    """What was seen of a replica that left."""

    books: Books

    @property
    def streams(self) -> list[Call]:
        return [call for call in self.books.sent(0.0, 5.0) if call.streamed]

    @property
    def gone_at(self) -> float:
        return next(fact.at for fact in self.books.journal.of("host_stopped") if fact.host == "gw1")


@pytest.fixture(scope="module")
def patient() -> Left:
    return Left(leaving(shutdown_s=120.0, fault=Fault("sigterm", "gw1", 10.0, 75.0)))


def test_x03_readiness_is_red_before_the_listener_closes(patient: Left) -> None:
    looks = patient.books.told("gw1", TERM_S + 0.25, TERM_S + DELAY_S)
    assert {fact.number("status") for fact in looks} == {503.0}
    accepted = [call for call in patient.books.sent(TERM_S + 0.3, TERM_S + DELAY_S - 0.1) if call.gateway == "gw1"]
    assert accepted
    assert all(answered(call) for call in accepted)
    refused = [call for call in patient.books.sent(TERM_S + DELAY_S + 0.1, 30.0) if call.gateway == "gw1"]
    assert {call.outcome for call in refused} == {"refused"}


def test_x03_all_streams_come_to_their_end(patient: Left) -> None:
    assert [call.outcome for call in patient.streams] == ["done"] * STREAMS
    assert min(call.over_at - call.sent_at for call in patient.streams) > 45.0


def test_x03_new_calls_go_to_the_new_release(patient: Left) -> None:
    new = [call for call in patient.books.sent(TERM_S, 80.0) if call.gateway == "gw2"]
    assert len(new) > 100
    assert all(answered(call) for call in new)


def test_x03_its_leases_are_given_back(patient: Left) -> None:
    busy = [
        fact.number("busy") for fact in patient.books.journal.of("slots_seen") if fact.at > patient.gone_at + 1.0
    ]
    assert busy
    assert max(busy) <= 1, "those of the other replica"
    taken = [fact.text("lease") for fact in patient.books.journal.of("lease_taken") if fact.host == "gw1"]
    given = {fact.text("lease") for fact in patient.books.journal.of("lease_released") if fact.host == "gw1"}
    assert set(taken) - given == set()


def test_x03_a_hard_limit_can_be_set() -> None:
    cut = Left(leaving(shutdown_s=7.0, fault=Fault("sigterm", "gw1", 10.0, 75.0)))
    assert {(call.outcome, call.code) for call in cut.streams} == {("error_event", "draining")}
    assert TERM_S + DELAY_S + 7.0 <= cut.gone_at <= TERM_S + DELAY_S + 7.0 + 3.0


def test_x03_a_second_signal_ends_it_at_once() -> None:
    hurried = Left(leaving(shutdown_s=120.0, fault=Fault("sigterm_twice", "gw1", 10.0, 75.0, 2.0)))
    assert hurried.gone_at <= TERM_S + 2.0 + 1.5
    assert {(call.outcome, call.code) for call in hurried.streams} == {("error_event", "draining")}
