import asyncio
from math import inf, nextafter

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.clock import LoopClock
from ktms.dialects.openai_chat.stream import StreamObserver
from ktms.domain.call import Route
from ktms.domain.errors import ErrorCode, problem
from ktms.domain.ids import VendorModel
from ktms.engine.call import Headers
from ktms.engine.relay import ClientStream, Relay
from ktms.engine.settings import EngineSettings
from ktms.ports.upstream import Flow
from tests.engine.virtual_loop import after
from tests.world.events import DONE, VENDOR_MODEL, C, F, U, comment, error_event, event, role

HEADERS = (("X-Request-Id", "id-1"),)
BROKEN = problem(ErrorCode.STREAM_INTERRUPTED, "it broke")
KEEPALIVE = b": keep-alive\n\n"


class Stand:
    """A client's stream and one attempt's relay into it."""

    def __init__(self, settings: EngineSettings | None = None, *, room_bytes: int = 65_536) -> None:
        self.settings = settings or EngineSettings()
        self.clock = LoopClock()
        self.client = MemoryClient(room_bytes=room_bytes)
        self.asked: list[bool] = []
        self.spoken: list[bytes] = []
        self.stream = ClientStream(self.client, self.settings, self.clock, self._headers)
        self.relay = self.another()

    def _headers(self, answering: bool) -> Headers:
        self.asked.append(answering)
        return HEADERS

    def another(self) -> Relay:
        observer = StreamObserver("small", route=Route.CHAT, usage_asked=False)
        return Relay(self.stream, observer, self.settings, self.clock, self._speaks)

    def _speaks(self) -> None:
        self.spoken.append(self.client.body)

    @property
    def begun(self) -> bool:
        return self.client.headers is not None


@pytest.fixture
async def stand() -> Stand:
    return Stand()


@pytest.mark.parametrize("piece", [role(), comment("hi"), U(1, 0), b": x\n", b"data: {"])
async def test_nothing_is_sent_before_something_visible(stand: Stand, piece: bytes) -> None:
    assert stand.relay.feed(piece) is Flow.WAITING
    assert not stand.begun
    assert stand.relay.first_token_at is None


async def test_what_was_held_comes_first_and_in_the_same_turn(stand: Stand) -> None:
    stand.relay.feed(role())
    assert stand.relay.feed(C("a")) is Flow.FLOWING
    assert (stand.client.headers, stand.asked) == (HEADERS, [True])
    assert len(stand.client.pieces) == 1
    assert stand.client.body.index(b"assistant") < stand.client.body.index(b'"a"')


async def test_pieces_after_the_first_visible_one_go_on_at_once(stand: Stand) -> None:
    stand.relay.feed(C("a"))
    for number, text in enumerate("bcd", start=2):
        assert stand.relay.feed(C(text)) is Flow.FLOWING
        assert len(stand.client.pieces) == number


async def test_half_an_event_is_kept_until_its_other_half_comes(stand: Stand) -> None:
    stand.relay.feed(C("a"))
    whole = C("b")
    assert stand.relay.feed(whole[:20]) is Flow.FLOWING
    assert len(stand.client.pieces) == 1
    stand.relay.feed(whole[20:])
    assert len(stand.client.pieces) == 2


async def test_the_first_token_has_the_time_of_the_first_visible_event(stand: Stand) -> None:
    stand.relay.feed(role())
    await after(3)
    stand.relay.feed(C("a"))
    await after(3)
    stand.relay.feed(C("b"))
    assert stand.relay.first_token_at == 1003


async def test_the_first_visible_event_is_told_of_and_no_other(stand: Stand) -> None:
    for piece in (role(), C("a"), C("b")):
        stand.relay.feed(piece)
    assert len(stand.spoken) == 1


async def test_a_finish_reason_alone_is_visible(stand: Stand) -> None:
    assert stand.relay.feed(F("stop")) is Flow.FLOWING
    assert stand.begun


@pytest.mark.parametrize(
    "piece", [DONE, error_event("boom"), event(b"{broken"), event({"error": {"message": "no"}})]
)
async def test_an_end_an_error_and_garbage_are_enough(stand: Stand, piece: bytes) -> None:
    assert stand.relay.feed(piece) is Flow.ENOUGH
    assert not stand.begun, "what follows is for the engine to say"
    visible = Stand()
    visible.relay.feed(C("a"))
    assert visible.relay.feed(piece) is Flow.ENOUGH
    assert len(visible.client.pieces) == 1


async def test_held_events_beyond_the_bound_are_too_much() -> None:
    stand = Stand(EngineSettings(held_max_bytes=500))
    flows = [stand.relay.feed(role()) for _ in range(10)]
    assert flows[0] is Flow.WAITING
    assert flows[-1] is Flow.ENOUGH
    assert stand.relay.overflowed
    assert not stand.begun


async def test_an_endless_stream_ends_at_its_bound() -> None:
    stand = Stand(EngineSettings(stream_max_bytes=1000))
    flows = [stand.relay.feed(C("a")) for _ in range(10)]
    assert Flow.ENOUGH in flows
    assert stand.relay.overflowed
    assert len(stand.client.body) < 1000


async def test_an_event_larger_than_any_is_too_much(stand: Stand) -> None:
    piece = b"x" * (4 << 20)
    flows = [stand.relay.feed(b"data: ")] + [stand.relay.feed(piece) for _ in range(5)]
    assert Flow.ENOUGH in flows
    assert stand.relay.overflowed


async def test_a_last_event_without_its_blank_line_is_taken(stand: Stand) -> None:
    stand.relay.feed(C("a"))
    stand.relay.feed(F("stop").rstrip(b"\n"))
    assert b'"stop"' not in stand.client.body
    stand.relay.end()
    assert stand.relay.observer.finished
    assert b'"stop"' in stand.client.body


async def test_a_client_that_is_full_chokes_the_upstream() -> None:
    stand = Stand(room_bytes=1000)
    stand.client.stop_reading()
    flows = [stand.relay.feed(C("x" * 100)) for _ in range(10)]
    assert flows[0] is Flow.FLOWING
    assert flows[-1] is Flow.CHOKED


async def test_a_client_that_is_full_at_the_first_piece_chokes_it() -> None:
    stand = Stand(room_bytes=10)
    stand.client.stop_reading()
    assert stand.relay.feed(C("a")) is Flow.CHOKED


async def test_a_good_end_has_the_end_mark(stand: Stand) -> None:
    stand.relay.feed(C("a"))
    stand.stream.finish()
    assert stand.client.body.endswith(DONE)
    assert stand.client.ended


async def test_a_bad_end_has_one_error_event_and_no_end_mark(stand: Stand) -> None:
    stand.relay.feed(C("a"))
    stand.stream.fail(BROKEN)
    assert stand.client.body.count(b'"error"') == 1
    assert b"[DONE]" not in stand.client.body
    assert stand.client.ended


async def test_an_answer_ends_once(stand: Stand) -> None:
    stand.relay.feed(C("a"))
    stand.stream.finish()
    stand.stream.fail(BROKEN)
    assert b'"error"' not in stand.client.body


async def test_a_long_silence_sends_the_status_and_comments(stand: Stand) -> None:
    await after(9.9)
    assert not stand.begun
    await after(0.2)
    assert (stand.begun, stand.asked) == (True, [False])
    assert stand.client.pieces == [KEEPALIVE]
    await after(15)
    assert stand.client.pieces == [KEEPALIVE] * 2


async def test_comments_count_as_nothing_visible(stand: Stand) -> None:
    await after(11)
    assert stand.relay.feed(role()) is Flow.WAITING
    assert stand.client.body == KEEPALIVE
    stand.relay.feed(C("a"))
    assert len(stand.asked) == 1, "a status is sent once"


async def test_no_comment_comes_into_a_stream_that_flows(stand: Stand) -> None:
    for _ in range(20):
        stand.relay.feed(C("a"))
        await after(7)
    assert KEEPALIVE not in stand.client.body


async def test_silence_in_a_stream_is_bridged_after_its_time(stand: Stand) -> None:
    stand.relay.feed(C("a"))
    await after(14.9)
    assert KEEPALIVE not in stand.client.body
    await after(0.2)
    assert stand.client.pieces[-1] == KEEPALIVE


async def test_what_is_left_of_a_silence_after_rounding_is_no_timer_of_nothing(stand: Stand) -> None:
    stand.relay.feed(C("a"))
    stand.stream._written_at = nextafter(stand.clock.monotonic() - stand.settings.keepalive_comment_s, inf)
    stand.stream._bridge_silence()
    await after(0.01)
    assert stand.client.body.endswith(KEEPALIVE)


async def test_a_closed_stream_sends_no_comment(stand: Stand) -> None:
    stand.stream.close()
    await after(100)
    assert not stand.begun


async def test_what_the_client_got_belongs_to_the_call_not_to_the_attempt(stand: Stand) -> None:
    stand.relay.feed(role())
    second = stand.another()
    second.feed(C("b"))
    assert b"assistant" not in stand.client.body


async def test_room_that_comes_back_is_waited_for() -> None:
    stand = Stand(room_bytes=10)
    stand.client.stop_reading()
    stand.relay.feed(C("a"))
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(stand.stream.drained())
        await after(1)
        assert not waiting.done()
        stand.client.read_on()


async def test_a_dropped_client_is_dropped_without_an_end(stand: Stand) -> None:
    stand.relay.feed(C("a"))
    stand.stream.drop()
    assert (stand.client.dropped, stand.client.ended) == (True, False)


@pytest.mark.parametrize(
    ("expects", "shown"),
    [
        ((), True),
        ((VendorModel(VENDOR_MODEL),), True),
        ((VendorModel("alias"), VendorModel(VENDOR_MODEL)), True),
        ((VendorModel("alias"),), False),
    ],
)
async def test_fn5_an_answer_of_another_model_is_not_shown(
    stand: Stand, expects: tuple[VendorModel, ...], shown: bool
) -> None:
    observer = StreamObserver("small", route=Route.CHAT, usage_asked=False)
    relay = Relay(stand.stream, observer, stand.settings, stand.clock, stand._speaks, expects)
    relay.feed(role())
    assert relay.feed(C("a")) is (Flow.FLOWING if shown else Flow.ENOUGH)
    assert (relay.wrong_model, relay.visible, stand.begun, bool(stand.spoken)) == (not shown, shown, shown, shown)


async def test_fn5_an_engine_that_gives_no_name_may_answer(stand: Stand) -> None:
    observer = StreamObserver("small", route=Route.CHAT, usage_asked=False)
    expects = (VendorModel("alias"),)
    relay = Relay(stand.stream, observer, stand.settings, stand.clock, stand._speaks, expects)
    nameless = C("a").replace(b'"model":"%b",' % VENDOR_MODEL.encode(), b"")
    assert relay.feed(nameless) is Flow.FLOWING
