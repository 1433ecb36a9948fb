"""One connection: order, the end, back pressure, slices and bandwidth."""

import asyncio

import pytest

from sim.network.link import HIGH_BYTES, WINDOW_BYTES
from tests.sim.network.lab import Lab, Recorder


def test_bytes_arrive_in_order_whatever_the_jitter(lab: Lab) -> None:
    caller, called = lab.pair()
    lab.network.link("a", "b").jitter_s = 0.5
    for number in range(200):
        caller.transport.write(b"%03d" % number)
    lab.pass_s(1)
    assert called.data == b"".join(b"%03d" % number for number in range(200))


def test_lines_leave_as_one_piece(lab: Lab) -> None:
    caller, called = lab.pair()
    caller.transport.writelines([b"one ", bytearray(b"two "), memoryview(b"three")])
    lab.pass_s(1)
    assert called.pieces == [b"one two three"]


def test_writing_nothing_sends_nothing(lab: Lab) -> None:
    caller, called = lab.pair()
    caller.transport.write(b"")
    lab.pass_s(1)
    assert called.told == ["made"]


# The end.


def test_closing_delivers_what_was_written_then_ends_both_sides(lab: Lab) -> None:
    caller, called = lab.pair()
    caller.transport.write(b"bye")
    caller.transport.close()
    assert caller.told == ["made"]
    lab.pass_s(1)
    assert caller.told == ["made", "lost"]
    assert called.told == ["made", "data", "eof", "lost"]
    assert caller.error is called.error is None


def test_closing_twice_is_closing_once(lab: Lab) -> None:
    caller, called = lab.pair()
    caller.transport.close()
    caller.transport.close()
    caller.transport.abort()
    called.transport.close()
    lab.pass_s(1)
    assert (caller.told.count("lost"), called.told.count("lost")) == (1, 1)


def test_closing_flushes_more_than_a_window(lab: Lab) -> None:
    caller, called = lab.pair()
    data = bytes(range(256)) * 8192
    caller.transport.write(data)
    caller.transport.close()
    assert caller.transport.is_closing()
    lab.pass_s(1)
    assert (called.data == data, called.told[-2:], caller.told[-1]) == (True, ["eof", "lost"], "lost")


def test_writing_after_closing_is_forgotten(lab: Lab) -> None:
    caller, called = lab.pair()
    caller.transport.close()
    caller.transport.write(b"late")
    lab.pass_s(1)
    assert called.data == b""


def test_half_a_connection_can_be_closed_and_the_other_half_used(lab: Lab) -> None:
    caller, called = lab.pair()
    called._keeps_half_open = True
    caller.transport.write(b"question")
    caller.transport.write_eof()
    lab.pass_s(1)
    assert caller.transport.can_write_eof()
    called.transport.write(b"answer")
    lab.pass_s(1)
    assert (called.told, caller.data) == (["made", "data", "eof"], b"answer")


def test_nothing_can_be_written_after_the_end_was(lab: Lab) -> None:
    caller, _ = lab.pair()
    caller.transport.write_eof()
    with pytest.raises(RuntimeError, match="after write_eof"):
        caller.transport.write(b"late")


def test_aborting_drops_what_has_not_left_and_ends_both_sides(lab: Lab) -> None:
    caller, called = lab.pair()
    called.transport.pause_reading()
    caller.transport.write(bytes(2 * WINDOW_BYTES))
    caller.transport.abort()
    lab.pass_s(1)
    called.transport.resume_reading()
    lab.pass_s(1)
    assert (caller.told[-1], len(called.data), called.told[-2:]) == ("lost", WINDOW_BYTES, ["eof", "lost"])


def test_bytes_for_a_side_that_is_gone_reset_the_other(lab: Lab) -> None:
    caller, called = lab.pair()
    called._keeps_half_open = True
    caller.transport.close()
    lab.pass_s(1)
    called.transport.write(b"anybody there")
    lab.pass_s(1)
    assert (called.told[-1], type(called.error)) == ("lost", ConnectionResetError)


def test_closing_with_bytes_unread_resets_the_other(lab: Lab) -> None:
    caller, called = lab.pair()
    called.transport.pause_reading()
    caller.transport.write(b"unread")
    lab.pass_s(1)
    called.transport.close()
    lab.pass_s(1)
    assert (caller.told[-1], type(caller.error), called.data) == ("lost", ConnectionResetError, b"")


def test_the_end_waits_behind_bytes_that_are_not_read(lab: Lab) -> None:
    caller, called = lab.pair()
    called.transport.pause_reading()
    caller.transport.write(b"first")
    caller.transport.close()
    lab.pass_s(10)
    assert called.told == ["made"]
    called.transport.resume_reading()
    lab.pass_s(1)
    assert called.told == ["made", "data", "eof", "lost"]


def test_an_error_of_a_protocol_ends_its_connection_and_is_reported(lab: Lab) -> None:
    caller, called = lab.pair()

    def fail(data: bytes) -> None:
        raise KeyError("bad bytes")

    called.data_received = fail  # type: ignore[method-assign]  # one protocol that fails
    caller.transport.write(b"x")
    lab.pass_s(1)
    assert type(called.error) is KeyError
    assert caller.told == ["made", "eof", "lost"]
    assert [type(kept.error) for kept in lab.loop.unhandled] == [KeyError]
    lab.loop.unhandled.clear()


# Protocols.


def test_a_connection_can_be_handed_to_another_protocol(lab: Lab) -> None:
    caller, called = lab.pair()
    successor = Recorder()
    called.transport.set_protocol(successor)
    caller.transport.write(b"for the next")
    lab.pass_s(1)
    assert called.transport.get_protocol() is successor
    assert (called.data, successor.data) == (b"", b"for the next")


def test_a_protocol_with_a_buffer_of_its_own_is_refused(lab: Lab) -> None:
    caller, _ = lab.pair()
    with pytest.raises(TypeError, match=r"asyncio\.Protocol"):
        caller.transport.set_protocol(asyncio.BufferedProtocol())


# Back pressure.


def test_a_reader_that_pauses_makes_the_writer_pause(lab: Lab) -> None:
    caller, called = lab.pair()
    called.transport.pause_reading()
    for _ in range(WINDOW_BYTES // 1024):
        caller.transport.write(bytes(1024))
    assert (caller.told, caller.transport.get_write_buffer_size()) == (["made"], 0)
    caller.transport.write(bytes(HIGH_BYTES))
    assert caller.told == ["made"]
    caller.transport.write(b"x")
    assert (caller.told, caller.transport.get_write_buffer_size()) == (["made", "pause"], HIGH_BYTES + 1)
    lab.pass_s(60)
    assert called.data == b""


def test_a_reader_that_goes_on_lets_the_writer_go_on_and_loses_nothing(lab: Lab) -> None:
    caller, called = lab.pair()
    called.transport.pause_reading()
    data = bytes(range(256)) * 4096
    caller.transport.write(data)
    lab.pass_s(1)
    called.transport.resume_reading()
    lab.pass_s(1)
    assert caller.told == ["made", "pause", "resume"]
    assert (called.data == data, lab.network.buffered_bytes_of("a")) == (True, 0)


def test_the_window_is_bounded(lab: Lab) -> None:
    caller, called = lab.pair()
    called.transport.pause_reading()
    caller.transport.write(bytes(10 * WINDOW_BYTES))
    lab.pass_s(1)
    assert caller.transport.in_flight_bytes == WINDOW_BYTES


def test_what_came_while_reading_was_paused_is_read_as_one_piece(lab: Lab) -> None:
    caller, called = lab.pair()
    called.transport.pause_reading()
    for piece in (b"a", b"b", b"c"):
        caller.transport.write(piece)
    lab.pass_s(1)
    assert not called.transport.is_reading()
    called.transport.resume_reading()
    lab.pass_s(1)
    assert called.pieces == [b"abc"]


@pytest.mark.parametrize(
    ("high", "low", "limits"),
    [(100, 10, (10, 100)), (100, None, (25, 100)), (None, 10, (10, 40)), (0, None, (0, 0))],
)
def test_marks_are_set_as_in_asyncio(lab: Lab, high: int | None, low: int | None, limits: tuple[int, int]) -> None:
    caller, _ = lab.pair()
    caller.transport.set_write_buffer_limits(high, low)
    assert caller.transport.get_write_buffer_limits() == limits


def test_a_low_mark_above_the_high_one_is_refused(lab: Lab) -> None:
    caller, _ = lab.pair()
    with pytest.raises(ValueError, match="high"):
        caller.transport.set_write_buffer_limits(10, 100)


def test_a_stream_writer_is_held_back_by_a_slow_reader(lab: Lab) -> None:
    done: list[float] = []

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            await reader.read(65_536)
            await asyncio.sleep(1)
        writer.close()

    async def fast() -> None:
        _, writer = await asyncio.open_connection("b", 81)
        for _ in range(32):
            writer.write(bytes(65_536))
            await writer.drain()
        done.append(lab.loop.time())
        writer.close()
        await writer.wait_closed()

    lab.run("b#1", asyncio.start_server(slow, None, 81))
    began_at = lab.loop.time()
    lab.run("a#1", fast())
    lab.pass_s(60)
    assert 15 < done[0] - began_at < 32


# Slices and bandwidth.


def test_a_slicing_link_cuts_every_write_and_loses_nothing(lab: Lab) -> None:
    caller, called = lab.pair()
    lab.network.link("a", "b").slice_max_bytes = 3
    caller.transport.write(b"data: a whole event\n\n")
    lab.pass_s(1)
    assert called.data == b"data: a whole event\n\n"
    assert max(len(piece) for piece in called.pieces) <= 3


def test_a_thin_link_takes_its_time(lab: Lab) -> None:
    caller, called = lab.pair()
    lab.network.link("a", "b").bytes_per_s = 1000
    began_at = lab.loop.time()
    for _ in range(5):
        caller.transport.write(bytes(1000))
    lab.pass_s(10)
    assert [round(at - began_at, 2) for at in called.times[1:]] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_thin_link_is_shared_by_all_connections(lab: Lab) -> None:
    _, made = lab.listen()
    first, second = lab.dial(), lab.dial()
    lab.pass_s(0.01)
    lab.network.link("a", "b").bytes_per_s = 1000
    began_at = lab.loop.time()
    first.transport.write(bytes(1000))
    second.transport.write(bytes(1000))
    lab.pass_s(10)
    assert [round(each.times[-1] - began_at, 2) for each in made] == [1.0, 2.0]


# The trace.


def test_bytes_and_ends_go_to_the_trace(lab: Lab) -> None:
    caller, _ = lab.pair()
    caller.transport.write(b"x")
    caller.transport.close()
    lab.pass_s(1)
    assert lab.trace.counts["bytes"] == 2


def test_one_flipped_byte_changes_the_trace() -> None:
    def digest(data: bytes) -> str:
        lab = Lab()
        caller, _ = lab.pair()
        caller.transport.write(data)
        lab.pass_s(1)
        lab.loop.close()
        return lab.trace.digest()

    assert digest(b"hello") == digest(b"hello") != digest(b"hellp")
