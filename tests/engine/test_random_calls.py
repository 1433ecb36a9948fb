"""Random scripts of targets: whatever they do, the books are right and the client hears one end."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.upstream import NOBODY, Fail, Head, Pause, Script, Silence
from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.ids import LOCAL
from ktms.domain.placement import Placement
from ktms.domain.routing.outcome import FailureKind
from ktms.engine.call import Failed, Result, Streamed, Whole
from tests.engine.rig import EVENTS, JSON, Rig, refusal, rig_of, stream, whole
from tests.engine.virtual_loop import VirtualLoop
from tests.world.events import DONE, C, F, U, chat_answer, comment, error_event, event, role

EVENT = st.sampled_from(
    [
        role(),
        C("a"),
        C("b" * 50),
        F("stop"),
        U(3, 4),
        DONE,
        comment("x"),
        event(b"{oops"),
        error_event("no", code=500),
    ]
)
MISHAP = st.sampled_from(
    [Silence(), Pause(1.0), Pause(50.0), *(Fail(kind) for kind in FailureKind)],
)
STREAM = st.lists(EVENT | EVENT | MISHAP, max_size=8).map(lambda steps: (Head(200, EVENTS), *steps))
WHOLE = st.lists(MISHAP, max_size=2).map(lambda steps: (*steps, Head(200, JSON), chat_answer("hi")))
REFUSAL = st.sampled_from(
    [refusal(status, retry_after="3") for status in (302, 400, 401, 404, 408, 429, 500, 503)]
)
SCRIPT: st.SearchStrategy[Script] = st.one_of(
    STREAM, WHOLE, REFUSAL, st.just(NOBODY), st.just(stream("x")), st.just(whole())
)
SCRIPTS = st.fixed_dictionaries(dict.fromkeys(("mac-1", "mac-2", "alpha", "beta"), SCRIPT))
CALL = st.tuples(
    st.sampled_from(["cloudy", "homely", "mixed", "auto", "nowhere"]),
    st.booleans(),
    st.sampled_from([None, *Placement]),
    st.none() | st.floats(0, 70),
)


async def run(scripts: dict[str, Script], calls: list[tuple[str, bool, Placement | None, float | None]]) -> None:
    rig = await rig_of()
    for name, script in scripts.items():
        rig.says(name, script)
    async with asyncio.TaskGroup() as group:
        for model, streamed, placement, leaves_s in calls:
            group.create_task(one(rig, model, streamed, placement, leaves_s))
    rig.assert_at_rest(calls=len(calls))
    assert not [event for event in rig.telemetry.events if event.name == "internal_error"]


async def one(rig: Rig, model: str, streamed: bool, placement: Placement | None, leaves_s: float | None) -> None:
    client = MemoryClient()
    call = rig.call(model, placement=placement, stream=streamed)
    try:
        async with asyncio.timeout(leaves_s):
            result = await rig.handle(call, client)
    except TimeoutError:
        assert not client.ended
    else:
        check(result, client)
    assert rig.clock.monotonic() - call.received_at <= rig.settings.call_total_s
    asked = [event for event in rig.ledger.events if event.request_id == call.request_id]
    assert len({(event.vendor, event.node, event.vendor_model) for event in asked}) == len(asked)
    assert all(event.status in MOVES_ON for event in asked[:-1]), "nothing is asked after an answer"
    if placement is Placement.NODES_ONLY:
        assert {event.vendor for event in asked} <= {LOCAL}


MOVES_ON = {AttemptStatus.FAILED}


def check(result: Result, client: MemoryClient) -> None:
    """Check that the client hears exactly one end."""
    match result:
        case Whole(_, body):
            assert client.headers is None
            assert b"hi" in body or b"hello" in body
        case Failed(_, cause):
            assert client.headers is None
            assert cause.message
        case Streamed(None):
            assert client.ended
            assert client.body.endswith(DONE)
            assert client.body.count(DONE) == 1
        case Streamed():
            assert client.ended
            assert client.body.count(b'data: {"error"') == 1
            assert DONE not in client.body


@given(SCRIPTS, st.lists(CALL, min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_books_are_right_and_the_client_hears_one_end(
    scripts: dict[str, Script], calls: list[tuple[str, bool, Placement | None, float | None]]
) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run(scripts, calls))
