from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.access.usage_event import AttemptStatus, UsageEvent
from ktms.domain.call import CallFacts, Route
from ktms.domain.catalogue import PriceSpec
from ktms.domain.conversation.usage import NO_USAGE, Usage
from ktms.domain.errors import ErrorCode, problem
from ktms.domain.ids import LOCAL, RequestId, VendorModel
from ktms.domain.price_compile import price_table
from ktms.engine.call import Failed, Result, Streamed, Whole
from ktms.engine.settle import CLIENT_LEFT, estimate, usage_of
from ktms.engine.shot import Shot
from ktms.engine.trail import Trail
from ktms.ports.telemetry import CallRecord
from tests.engine.rig import Rig, client_key, cloud

FACTS = CallFacts("small", text_bytes=400, images=2)
REFUSED = problem(ErrorCode.NO_TARGET_AVAILABLE, "no")


def test_a_prompt_is_estimated_by_its_text_and_images() -> None:
    assert estimate(FACTS, visible_events=0, content_bytes=0).prompt_tokens == 100 + 2000


@pytest.mark.parametrize(("events", "size", "tokens"), [(10, 4, 10), (3, 400, 100), (0, 0, 0)])
def test_an_answer_is_estimated_by_its_events_or_its_bytes_whichever_is_more(
    events: int, size: int, tokens: int
) -> None:
    assert estimate(FACTS, visible_events=events, content_bytes=size).completion_tokens == tokens


@given(st.integers(0, 1 << 30), st.integers(0, 1 << 30))
def test_estimates_are_marked_and_grow_with_what_was_delivered(events: int, size: int) -> None:
    small = estimate(FACTS, visible_events=events, content_bytes=size)
    large = estimate(FACTS, visible_events=events + 1, content_bytes=size + 4)
    assert small.estimated
    assert 0 <= small.completion_tokens <= large.completion_tokens


def test_what_the_vendor_told_is_taken() -> None:
    told = Usage(5, 6)
    for status in AttemptStatus:
        assert usage_of(Shot(0, told=told, status=status, visible_events=9), FACTS) is told


@pytest.mark.parametrize("status", AttemptStatus)
def test_a_stream_that_showed_something_and_tells_of_no_completion_has_it_estimated(status: AttemptStatus) -> None:
    told = Usage(1000, 0, cached_tokens=900)
    usage = usage_of(Shot(0, told=told, status=status, visible_events=9), FACTS)
    assert usage == Usage(1000, 9, cached_tokens=900, estimated=True)


def test_a_stream_whose_counts_are_all_zero_has_told_nothing() -> None:
    shot = Shot(0, told=Usage(), status=AttemptStatus.OK, visible_events=9)
    assert usage_of(shot, FACTS) == Usage(2100, 9, estimated=True)


def test_an_answer_without_text_may_have_no_completion() -> None:
    told = Usage(7, 0)
    assert usage_of(Shot(0, told=told, status=AttemptStatus.OK), FACTS) is told


@pytest.mark.parametrize("status", [AttemptStatus.FAILED, AttemptStatus.REFUSED])
def test_an_attempt_that_gave_nothing_costs_nothing(status: AttemptStatus) -> None:
    assert usage_of(Shot(0, status=status), FACTS) is NO_USAGE


@pytest.mark.parametrize("status", [AttemptStatus.OK, AttemptStatus.INTERRUPTED, AttemptStatus.CANCELLED])
def test_what_was_delivered_is_estimated_where_the_vendor_told_nothing(status: AttemptStatus) -> None:
    usage = usage_of(Shot(0, status=status, visible_events=3, content_bytes=40), FACTS)
    assert (usage.prompt_tokens, usage.completion_tokens, usage.estimated) == (2100, 10, True)


async def placed(rig: Rig, **members: object) -> Trail:
    call = rig.call(**members)  # type: ignore[arg-type]  # members of the body
    trail = Trail(call, key=client_key())
    assert rig.current.snapshot is not None
    trail.decision = rig.placer.place(rig.current.snapshot, call, client_key()).decision
    trail.model = trail.decision.models[0]
    return trail


async def booked(rig: Rig, shot: Shot, trail: Trail | None = None, *, ended_at: float = 1002.0) -> UsageEvent:
    trail = trail or await placed(rig)
    model, step = cloud(rig.current.snapshot or pytest.fail("there is one"))
    target = rig.placer._targets.cloud(step, model, None, Route.CHAT, trail.call.body.facts)
    rig.books.attempt(trail, target, shot, ended_at)
    return rig.ledger.events[-1]


async def test_an_event_has_the_times_of_its_attempt(rig: Rig) -> None:
    event = await booked(rig, Shot(1000.5, first_token_at=1001.0))
    assert (event.duration_s, event.first_token_s) == (1.5, 0.5)
    assert event.started_at == rig.clock.wall() - 1.5


async def test_an_event_says_who_asked_for_what_and_who_answered(rig: Rig) -> None:
    trail = await placed(rig, model="auto")
    event = await booked(rig, Shot(1000, http_status=200, status=AttemptStatus.OK), trail)
    assert (event.request_id, event.tenant, event.key_id) == (trail.call.request_id, "default", "0000000000")
    assert (event.model, event.chain, event.vendor, event.vendor_model) == ("cloudy", "auto", "alpha", "gpt")
    assert (event.status, event.http_status, event.streamed) == (AttemptStatus.OK, 200, False)


async def test_events_of_one_call_have_ids_of_their_own(rig: Rig) -> None:
    trail = await placed(rig)
    assert (await booked(rig, Shot(1000), trail)).id != (await booked(rig, Shot(1000), trail)).id


async def test_an_attempt_whose_client_left_is_told_as_such(rig: Rig) -> None:
    trail = await placed(rig)
    await booked(rig, Shot(1000, status=AttemptStatus.CANCELLED), trail)
    assert trail.story() == "alpha:cancelled"


PRICED = price_table(
    [
        PriceSpec("alpha", "gpt", Decimal("0.15"), Decimal("0.075"), output=Decimal("0.60")),
        PriceSpec("local", "homely", Decimal("0.01")),
    ]
)


async def test_an_event_says_what_its_attempt_cost(rig: Rig) -> None:
    trail = await placed(rig)
    trail.prices = PRICED
    told = Usage(1000, 10, cached_tokens=900)
    event = await booked(rig, Shot(1000, told=told, status=AttemptStatus.OK), trail)
    picos = 100 * 150_000 + 900 * 75_000 + 10 * 600_000
    assert (event.cost_picos, event.cloud_picos, event.priced) == (picos, picos, True)


async def test_an_attempt_on_a_node_says_what_the_cloud_would_have_cost(rig: Rig) -> None:
    trail = await placed(rig, model="mixed")
    trail.prices = PRICED
    model, step = cloud(rig.current.snapshot or pytest.fail("there is one"))
    target = rig.placer._targets.cloud(step, model, None, Route.CHAT, FACTS)
    at_home = replace(target, vendor=LOCAL, vendor_model=VendorModel("homely"))
    rig.books.attempt(trail, at_home, Shot(1000, told=Usage(1000, 10), status=AttemptStatus.OK), 1002)
    event = rig.ledger.events[-1]
    assert (event.cost_picos, event.cloud_picos) == (1000 * 10_000, 1000 * 150_000 + 10 * 600_000)


async def test_an_attempt_at_an_unpriced_target_costs_nothing_and_says_so(rig: Rig) -> None:
    event = await booked(rig, Shot(1000, told=Usage(1000, 10), status=AttemptStatus.OK))
    assert (event.cost_picos, event.cloud_picos, event.priced) == (0, None, False)


async def test_the_price_is_that_of_the_moment_the_attempt_began(rig: Rig) -> None:
    now = int(rig.clock.wall())
    prices = [PriceSpec("alpha", "gpt", Decimal(price), valid_from=at_s) for price, at_s in ((1, 0), (2, now))]
    trail = await placed(rig)
    trail.prices = price_table(prices)
    told = Shot(1000, told=Usage(1, 0), status=AttemptStatus.OK)
    assert (await booked(rig, told, trail, ended_at=1000.0)).cost_picos == 2_000_000
    assert (await booked(rig, told, trail, ended_at=1002.0)).cost_picos == 1_000_000


async def test_a_call_has_used_what_all_its_attempts_used(rig: Rig) -> None:
    trail = await placed(rig)
    trail.prices = PRICED
    for _ in range(2):
        await booked(rig, Shot(1000, told=Usage(3, 2), status=AttemptStatus.INTERRUPTED), trail)
    assert (trail.used_tokens, trail.used_picos) == (10, 2 * (3 * 150_000 + 2 * 600_000))


USED_UP = (AttemptStatus.OK, AttemptStatus.INTERRUPTED, AttemptStatus.CANCELLED, AttemptStatus.REFUSED)
"""Whoever leaves before the first word, or sends what the vendor refuses, has been at the vendor all the same."""


@pytest.mark.parametrize("status", USED_UP)
async def test_an_attempt_that_the_vendor_carried_out_uses_something(rig: Rig, status: AttemptStatus) -> None:
    trail = await placed(rig)
    event = await booked(rig, Shot(1000, told=Usage(), status=status), trail)
    assert (event.usage.tokens, trail.used_tokens) == (0, 1)


async def test_an_attempt_that_failed_uses_nothing(rig: Rig) -> None:
    trail = await placed(rig)
    await booked(rig, Shot(1000, status=AttemptStatus.FAILED), trail)
    assert trail.used_tokens == 0


async def test_an_event_says_that_a_limit_could_not_be_counted(rig: Rig) -> None:
    trail = await placed(rig)
    trail.uncounted = True
    assert (await booked(rig, Shot(1000), trail)).uncounted


async def test_a_call_costs_all_its_attempts_rounded_up_once(rig: Rig) -> None:
    trail = await placed(rig)
    trail.used_picos = 1_500_001
    assert (await record_of(rig, Whole((), b"{}"), trail)).cost_micros == 2


async def record_of(rig: Rig, result: Result | None, trail: Trail | None = None) -> CallRecord:
    rig.telemetry.call_started()
    rig.books.call(trail or await placed(rig), result)
    return rig.telemetry.calls[-1]


@pytest.mark.parametrize(
    ("result", "status", "code"),
    [
        (Whole((), b"{}"), 200, None),
        (Streamed(), 200, None),
        (Streamed(REFUSED), 200, "no_target_available"),
        (Failed((), REFUSED), 503, "no_target_available"),
        (Failed((), replace(REFUSED, status=422)), 422, "no_target_available"),
        (None, CLIENT_LEFT, None),
    ],
)
async def test_a_call_is_booked_with_the_status_its_client_saw(
    rig: Rig, result: Result | None, status: int, code: str | None
) -> None:
    record = await record_of(rig, result)
    assert (record.status, record.code, record.cancelled) == (status, code, result is None)


async def test_a_call_whose_client_stalled_counts_as_left(rig: Rig) -> None:
    trail = await placed(rig)
    trail.cancelled = True
    record = await record_of(rig, Streamed(), trail)
    assert (record.status, record.cancelled) == (CLIENT_LEFT, True)


async def test_a_call_refused_before_anything_was_known_is_booked_all_the_same(rig: Rig) -> None:
    record = await record_of(rig, Failed((), REFUSED), Trail(rig.call()))
    assert (record.key_id, record.tenant, record.model, record.placement) == (None, None, None, None)


async def test_a_call_counts_the_wait_for_its_first_token_from_its_arrival_on(rig: Rig) -> None:
    trail = await placed(rig)
    trail.first_token_at = trail.call.received_at + 0.5
    assert (await record_of(rig, Streamed(), trail)).first_token_s == pytest.approx(0.5)


async def test_a_call_has_the_tokens_of_its_last_attempt(rig: Rig) -> None:
    trail = await placed(rig)
    await booked(rig, Shot(1000, told=Usage(5, 6)), trail)
    record = await record_of(rig, Whole((), b"{}"), trail)
    assert (record.prompt_tokens, record.completion_tokens) == (5, 6)


async def test_a_request_of_bad_form_is_one_record_and_in_flight_no_more(rig: Rig) -> None:
    cause = problem(ErrorCode.REQUEST_TOO_LARGE, "no")
    rig.books.refused(RequestId("id"), Route.EMBEDDINGS, cause, rig.clock.monotonic() - 2)
    (record,) = rig.telemetry.calls
    assert (record.status, record.code, record.route, record.total_s) == (413, cause.code, "/embeddings", 2)
    assert rig.telemetry.in_flight == 0
