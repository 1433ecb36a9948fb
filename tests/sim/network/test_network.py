"""Connecting, and every fault of the network, with a real protocol at each end."""

import asyncio

import pytest

from sim.loop import STARTS_AT
from tests.sim.network.lab import PORT, A, B, Lab, Recorder

RTT_MIN_S, RTT_MAX_S = 0.001, 0.0014


def _lost_with(recorder: Recorder, error: type[Exception] | None) -> bool:
    """Whether connection_lost came exactly once, last, and with this error."""
    kind = None if recorder.error is None else type(recorder.error)
    return recorder.told.count("lost") == 1 and recorder.told[-1] == "lost" and kind is error


# Connecting.


def test_a_connection_takes_one_round_trip(lab: Lab) -> None:
    lab.listen()
    caller = lab.dial()
    assert RTT_MIN_S <= caller.times[0] - STARTS_AT <= RTT_MAX_S


@pytest.mark.parametrize("host", ["b", "10.0.0.2"])
def test_a_host_is_reached_by_name_and_by_address(lab: Lab, host: str) -> None:
    lab.listen()
    assert lab.dial(host).transport.get_extra_info("peername") == ("10.0.0.2", PORT)


def test_each_side_runs_on_its_own_host(lab: Lab) -> None:
    caller, called = lab.pair()
    caller.transport.write(b"x")
    called.transport.write(b"y")
    lab.pass_s(1)
    assert (set(caller.hosts), set(called.hosts)) == ({A}, {B})


def test_both_sides_know_both_addresses(lab: Lab) -> None:
    caller, called = lab.pair()
    assert caller.transport.get_extra_info("sockname") == called.transport.get_extra_info("peername")
    assert called.transport.get_extra_info("sockname") == ("10.0.0.2", PORT)
    assert caller.transport.get_extra_info("socket") is None
    assert caller.transport.get_extra_info("sslcontext") is None


def test_where_nobody_listens_is_refused_after_one_round_trip(lab: Lab) -> None:
    with pytest.raises(ConnectionRefusedError):
        lab.dial()
    assert RTT_MIN_S <= lab.loop.time() - STARTS_AT <= RTT_MAX_S


def test_a_local_port_is_reached_from_its_own_host_alone(lab: Lab) -> None:
    lab.run(B, lab.loop.create_server(Recorder, "127.0.0.1", PORT))
    assert lab.dial("localhost", on=B).told == ["made"]
    with pytest.raises(ConnectionRefusedError):
        lab.dial("b", on=A)


def test_an_address_nobody_has_cannot_be_reached(lab: Lab) -> None:
    with pytest.raises(OSError, match="No route"):
        lab.dial("10.9.9.9")


def test_who_runs_on_no_host_is_told_what_to_do(lab: Lab) -> None:
    with pytest.raises(ValueError, match="start_on"):
        lab.dial(on="nowhere#0")


def test_a_host_is_there_once(lab: Lab) -> None:
    with pytest.raises(ValueError, match="there already"):
        lab.network.add_host("d", "10.0.0.1")


def test_a_link_needs_hosts_that_exist(lab: Lab) -> None:
    with pytest.raises(ValueError, match="'z' is not known"):
        lab.network.link("a", "z")


def test_a_link_has_two_directions(lab: Lab) -> None:
    assert lab.network.link("a", "b") is lab.network.link("a", "b")
    assert lab.network.link("a", "b") is not lab.network.link("b", "a")


def test_latency_counts_each_way_on_its_own(lab: Lab) -> None:
    caller, called = lab.pair()
    lab.network.link("a", "b").latency_s = 0.2
    sent_at = lab.loop.time()
    caller.transport.write(b"slow")
    called.transport.write(b"fast")
    lab.pass_s(1)
    assert called.times[-1] - sent_at == pytest.approx(0.2, abs=0.001)
    assert caller.times[-1] - sent_at == pytest.approx(0.0005, abs=0.001)


def test_a_port_closed_during_the_handshake_resets_the_caller(lab: Lab) -> None:
    listener, _ = lab.listen()
    caller = lab.dial()
    listener.close()
    lab.pass_s(1)
    assert _lost_with(caller, ConnectionResetError)


def test_a_factory_that_fails_resets_the_caller_and_is_reported(lab: Lab) -> None:
    def fail() -> asyncio.Protocol:
        raise KeyError("no protocol")

    lab.run(B, lab.loop.create_server(fail, None, PORT))
    caller = lab.dial()
    lab.pass_s(1)
    assert _lost_with(caller, ConnectionResetError)
    assert [type(kept.error) for kept in lab.loop.unhandled] == [KeyError]
    lab.loop.unhandled.clear()


# Faults.


def test_a_refusing_host_refuses_until_it_no_longer_does(lab: Lab) -> None:
    lab.listen()
    lab.network.refuse("b", on=True)
    with pytest.raises(ConnectionRefusedError):
        lab.dial()
    lab.network.refuse("b", on=False)
    assert lab.dial().told == ["made"]


def test_refusing_leaves_open_connections_alone(lab: Lab) -> None:
    caller, called = lab.pair()
    lab.network.refuse("b", on=True)
    caller.transport.write(b"still here")
    lab.pass_s(1)
    assert called.data == b"still here"


def test_a_black_hole_holds_bytes_and_gives_them_in_order_when_it_ends(lab: Lab) -> None:
    caller, called = lab.pair()
    lab.network.black_hole("a", "b", on=True)
    for number in range(20):
        caller.transport.write(b"%02d" % number)
    lab.pass_s(60)
    assert called.data == b""
    lab.network.black_hole("a", "b", on=False)
    caller.transport.write(b"end")
    lab.pass_s(1)
    assert called.data == b"".join(b"%02d" % number for number in range(20)) + b"end"


def test_a_black_hole_is_one_way(lab: Lab) -> None:
    caller, called = lab.pair()
    lab.network.black_hole("a", "b", on=True)
    called.transport.write(b"hello")
    lab.pass_s(1)
    assert caller.data == b"hello"


def test_the_end_of_a_connection_stays_in_a_black_hole_too(lab: Lab) -> None:
    caller, called = lab.pair()
    lab.network.black_hole("a", "b", on=True)
    caller.transport.write(b"last words")
    caller.transport.close()
    lab.pass_s(60)
    assert (caller.told[-1], called.told) == ("lost", ["made"])
    lab.network.black_hole("a", "b", on=False)
    lab.pass_s(1)
    assert called.told == ["made", "data", "eof", "lost"]


@pytest.mark.parametrize(("a", "b"), [("a", "b"), ("b", "a")])
def test_a_connect_into_a_black_hole_gives_up_after_130_s(lab: Lab, a: str, b: str) -> None:
    lab.listen()
    lab.network.black_hole(a, b, on=True)
    with pytest.raises(TimeoutError):
        lab.dial()
    assert lab.loop.time() - STARTS_AT == pytest.approx(130)


def test_a_connect_goes_through_once_the_black_hole_has_ended(lab: Lab) -> None:
    lab.listen()
    lab.network.partition("a", "b", on=True)
    lab.loop.call_later(10, lambda: lab.network.partition("a", "b", on=False))
    caller = lab.dial()
    assert caller.times[0] - STARTS_AT == pytest.approx(15, abs=0.01)


def test_a_partition_cuts_both_ways_and_nobody_else(lab: Lab) -> None:
    caller, called = lab.pair()
    lab.network.partition("a", "b", on=True)
    caller.transport.write(b"x")
    called.transport.write(b"y")
    lab.pass_s(10)
    assert caller.told == called.told == ["made"]
    assert lab.dial(on="c#1").told == ["made"]
    lab.network.partition("a", "b", on=False)
    lab.pass_s(1)
    assert (caller.data, called.data) == (b"y", b"x")


def test_resetting_a_host_ends_all_its_connections_at_both_sides(lab: Lab) -> None:
    _, made = lab.listen()
    callers = [lab.dial(on=on) for on in (A, "c#1")]
    lab.pass_s(0.01)
    at = lab.loop.time()
    lab.network.reset_all("b")
    lab.pass_s(1)
    assert all(_lost_with(each, ConnectionResetError) for each in [*callers, *made])
    assert {each.times[-1] for each in [*callers, *made]} == {at}


def test_a_reset_loses_what_was_under_way(lab: Lab) -> None:
    caller, called = lab.pair()
    caller.transport.write(b"never seen")
    lab.network.reset(called.transport)
    lab.pass_s(1)
    assert (called.data, _lost_with(caller, ConnectionResetError)) == (b"", True)


def test_a_reset_ends_one_connection_only(lab: Lab) -> None:
    lab.listen()
    first, second = lab.dial(), lab.dial()
    lab.network.reset(first.transport)
    lab.pass_s(1)
    assert (first.told[-1], second.told) == ("lost", ["made"])


def test_a_second_reset_changes_nothing(lab: Lab) -> None:
    caller, called = lab.pair()
    lab.network.reset(caller.transport)
    lab.network.reset(called.transport)
    lab.pass_s(1)
    lab.network.reset(caller.transport)
    lab.pass_s(1)
    assert _lost_with(caller, ConnectionResetError)
    assert _lost_with(called, ConnectionResetError)


def test_only_connections_of_the_network_can_be_reset(lab: Lab) -> None:
    with pytest.raises(TypeError, match="no connection"):
        lab.network.reset(asyncio.Transport())


def test_a_vanished_host_says_and_hears_nothing_any_more(lab: Lab) -> None:
    caller, called = lab.pair()
    called.transport.write(b"under way")
    lab.network.vanish("b")
    caller.transport.write(b"anybody there")
    called.transport.close()
    lab.pass_s(3600)
    assert caller.told == called.told[:1] == ["made"]
    assert (called.data, lab.network.buffered_bytes_of("a")) == (b"", len(b"anybody there"))


def test_connects_to_a_vanished_host_hang_and_its_return_does_not_bring_old_ones_back(lab: Lab) -> None:
    caller, _ = lab.pair()
    lab.network.vanish("b")
    with pytest.raises(TimeoutError):
        lab.dial()
    lab.network.vanish("b", on=False)
    caller.transport.write(b"old")
    assert lab.dial().told == ["made"]
    lab.pass_s(10)
    assert caller.told == ["made"]


def test_a_reset_does_not_reach_what_is_half_open(lab: Lab) -> None:
    caller, _ = lab.pair()
    lab.network.vanish("b")
    lab.network.reset_all("b")
    lab.pass_s(10)
    assert caller.told == ["made"]


def test_who_writes_to_a_vanished_host_is_asked_to_pause_in_the_end(lab: Lab) -> None:
    caller, _ = lab.pair()
    lab.network.vanish("b")
    for _ in range(400):
        caller.transport.write(bytes(1024))
    assert caller.told == ["made", "pause"]


def test_a_killed_process_resets_its_peers_and_is_told_nothing(lab: Lab) -> None:
    caller, called = lab.pair()
    called.transport.write(b"last words")
    lab.loop.crash(B)
    lab.network.crash(B)
    lab.pass_s(1)
    assert caller.data == b"last words"
    assert _lost_with(caller, ConnectionResetError)
    assert called.told == ["made"]


def test_the_ports_of_a_killed_process_are_closed_and_its_successor_may_open_them(lab: Lab) -> None:
    lab.pair()
    lab.loop.crash(B)
    lab.network.crash(B)
    with pytest.raises(ConnectionRefusedError):
        lab.dial()
    lab.listen(on="b#2")
    assert lab.dial().told == ["made"]


def test_a_process_killed_with_its_machine_leaves_its_peers_in_the_dark(lab: Lab) -> None:
    caller, _ = lab.pair()
    lab.loop.crash(B)
    lab.network.crash(B, silent=True)
    caller.transport.write(b"anybody there")
    lab.pass_s(3600)
    assert caller.told == ["made"]


def test_a_process_killed_while_it_is_dialled_resets_the_caller(lab: Lab) -> None:
    lab.listen()
    caller = lab.dial()
    lab.loop.crash(B)
    lab.network.crash(B)
    lab.pass_s(1)
    assert _lost_with(caller, ConnectionResetError)


def test_a_frozen_process_gets_all_that_came_when_it_thaws(lab: Lab) -> None:
    caller, called = lab.pair()
    thaws_at = lab.loop.time() + 30
    lab.loop.freeze(B, thaws_at)
    for piece in (b"1", b"2", b"3"):
        caller.transport.write(piece)
    caller.transport.close()
    lab.pass_s(60)
    assert called.told == ["made", "data", "data", "data", "eof", "lost"]
    assert set(called.times[1:]) == {thaws_at}


def test_a_frozen_process_can_be_connected_to(lab: Lab) -> None:
    _, made = lab.listen()
    lab.loop.freeze(B, STARTS_AT + 30)
    caller = lab.dial()
    caller.transport.write(b"early")
    lab.pass_s(10)
    assert (caller.told, made) == (["made"], [])
    lab.pass_s(60)
    assert made[0].data == b"early"


# Questions.


def test_open_connections_are_counted_per_host(lab: Lab) -> None:
    caller, _ = lab.pair()
    assert (lab.network.open_of("a"), lab.network.open_of("b"), lab.network.open_of("c")) == (1, 1, 0)
    caller.transport.close()
    lab.pass_s(1)
    assert (lab.network.open_of("a"), lab.network.open_of("b")) == (0, 0)


def test_connections_that_others_made_are_counted_apart(lab: Lab) -> None:
    caller, _ = lab.pair()
    assert caller.told == ["made"]
    assert (lab.network.accepted_of("a"), lab.network.accepted_of("b")) == (0, 1)


def test_a_network_that_is_over_tells_nobody_anything(lab: Lab) -> None:
    caller, called = lab.pair()
    caller.transport.write(b"under way")
    lab.network.close()
    lab.pass_s(1)
    assert caller.told == called.told == ["made"]
    assert caller.transport.is_closing()


def test_connections_of_a_killed_process_are_not_open(lab: Lab) -> None:
    lab.pair()
    lab.loop.crash(B)
    lab.network.crash(B)
    assert lab.network.open_of("b") == 0


def test_bytes_are_counted_until_they_are_taken(lab: Lab) -> None:
    caller, called = lab.pair()
    called.transport.pause_reading()
    caller.transport.write(bytes(500))
    lab.pass_s(1)
    assert lab.network.buffered_bytes_of("a") == 500
    called.transport.resume_reading()
    lab.pass_s(1)
    assert lab.network.buffered_bytes_of("a") == 0
