import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.adapters.grpc.event_messages import INT64_MAX, STATUSES, MessageInvalid, event_message, event_of
from ktms.adapters.grpc.gen import ledger_pb2
from ktms.adapters.grpc.report_messages import (
    DIMENSIONS,
    query_message,
    query_of,
    row_message,
    row_of,
    spent_message,
    spent_of,
)
from ktms.domain.access.quota import Spent
from ktms.domain.access.usage_event import AttemptStatus, BatchLine, UsageEvent
from ktms.domain.access.usage_report import Dimension, UsageQuery, UsageRow
from ktms.domain.conversation.usage import Usage
from tests.usage_events import usage_event

WHOLE = st.integers(0, INT64_MAX)
NAME = st.text(max_size=20)


def events() -> st.SearchStrategy[UsageEvent]:
    members = {
        "first_token_s": st.none() | st.floats(0, 1e6),
        "tenant": NAME,
        "chain": st.none() | NAME,
        "node": st.none() | NAME,
        "status": st.sampled_from(AttemptStatus),
        "http_status": st.none() | st.integers(0, 999),
        "usage": st.builds(Usage, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, st.booleans()),
        "streamed": st.booleans(),
        "cost_picos": WHOLE,
        "cloud_picos": st.none() | WHOLE,
        "priced": st.booleans(),
        "uncounted": st.booleans(),
        "from_cache": st.booleans(),
        "batch_line": st.none() | st.builds(BatchLine, NAME, st.integers(1, 2**31 - 1)),
    }
    return st.fixed_dictionaries(members).map(lambda said: usage_event(1, **said))


@given(events())
def test_an_event_comes_over_the_wire_as_it_was(event: UsageEvent) -> None:
    wire = event_message(event).SerializeToString()
    assert event_of(ledger_pb2.UsageEvent.FromString(wire)) == event


def test_every_status_and_dimension_has_a_number() -> None:
    assert (set(STATUSES), set(DIMENSIONS)) == (set(AttemptStatus), set(Dimension))


def test_an_amount_beyond_64_bits_is_the_most_that_fits() -> None:
    event = usage_event(1, cost_picos=10**30, cloud_picos=10**30, usage=Usage(10**30))
    read = event_of(event_message(event))
    assert (read.cost_picos, read.cloud_picos, read.usage.prompt_tokens) == (INT64_MAX,) * 3


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(MessageInvalid):
        event_of(ledger_pb2.UsageEvent())


@pytest.mark.parametrize(
    "query",
    [
        UsageQuery(1, 2),
        UsageQuery(1, 2, tuple(Dimension), tenant="", key_id="k", model="m", vendor="v"),
    ],
    ids=["least", "most"],
)
def test_a_question_comes_over_the_wire_as_it_was(query: UsageQuery) -> None:
    assert query_of(query_message(query)) == query


@pytest.mark.parametrize("by", [[99], [0], [1, 1]])
def test_dimensions_that_mean_nothing_are_refused(by: list[int]) -> None:
    with pytest.raises(MessageInvalid):
        query_of(ledger_pb2.GetUsageRequest(by=by))  # type: ignore[arg-type]  # numbers that have no name


def test_a_row_comes_over_the_wire_as_it_was() -> None:
    row = UsageRow(("a", ""), 1, 2, 3, 4, 5, 6, 7, 8, 10**30, -(10**30))
    assert row_of(row_message(row)) == row


def test_what_was_spent_comes_over_the_wire_as_it_was() -> None:
    spent = Spent("key:x", 20_000, 24_000, 1, 2)
    assert spent_of(spent_message(spent)) == spent
