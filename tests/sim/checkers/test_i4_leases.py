"""I4: never more live leases on a node than slots."""

import pytest

from sim.checkers.i4_leases import check
from tests.sim.checkers.story import GATEWAY, NODE, Story, said


def taken(story: Story, lease: str, *, slots: int = 1, host: str = GATEWAY) -> Story:
    return story.note("lease_taken", host, lease=lease, node=NODE, slots=slots)


def released(story: Story, lease: str, host: str = GATEWAY, *, drain_s: float = 0.0) -> Story:
    return story.note("lease_released", host, lease=lease, node=NODE, drain_s=drain_s)


def test_one_after_the_other_is_right() -> None:
    story = released(taken(Story(), "a"), "a")
    assert said(check, taken(story, "b")) == []


def test_a_slot_that_is_granted_twice_is_found() -> None:
    assert said(check, taken(taken(Story(), "a"), "b")) == [
        "gw1 took lease b of node-0, whose 1 slots are held by a"
    ]


def test_more_slots_than_the_node_has_are_found() -> None:
    story = Story().setting(f"slots:{NODE}", 1)
    assert len(said(check, taken(taken(story, "a", slots=2), "b", slots=2))) == 1


def test_a_lease_that_is_granted_twice_is_found() -> None:
    story = taken(taken(Story(), "a", slots=2), "a", slots=2)
    assert said(check, story) == ["gw1 took lease a of node-0, which is held already"]


def test_each_process_counts_for_itself() -> None:
    assert said(check, taken(taken(Story(), "a"), "b", host="gw2")) == []


def test_a_shared_store_counts_for_all() -> None:
    story = Story().setting("leases_shared", value=True)
    assert len(said(check, taken(taken(story, "a"), "b", host="gw2"))) == 1


def test_a_process_that_died_holds_nothing() -> None:
    story = taken(Story(), "a").note("host_crashed", GATEWAY)
    assert said(check, taken(story, "b")) == []


def shared() -> Story:
    return Story().setting("leases_shared", value=True).setting("lease_ttl_s", 15.0).note("host_up", GATEWAY)


def renewed(story: Story, lease: str, how: str = "kept") -> Story:
    return story.note("lease_renewed", GATEWAY, lease=lease, node=NODE, how=how)


def other(story: Story, lease: str = "b") -> Story:
    return taken(story, lease, host="gw2")


def seen(story: Story, busy: int) -> Story:
    return story.note("slots_seen", node=NODE, busy=busy)


def refused(story: Story, slots: int = 1) -> Story:
    return story.note("lease_refused", "gw2", nodes=NODE, slots=str(slots))


def crashed() -> Story:
    return taken(shared(), "a").at(1).note("host_crashed", GATEWAY)


def test_a_shared_lease_outlives_its_process() -> None:
    assert len(said(check, other(crashed().at(14)))) == 1


def test_a_shared_lease_ends_by_itself() -> None:
    assert said(check, other(crashed().at(15))) == []


def test_a_renewal_prolongs_it() -> None:
    story = renewed(taken(shared(), "a").at(5), "a").at(6).note("host_crashed", GATEWAY)
    assert len(said(check, other(story.at(19)))) == 1


def test_one_of_a_gateway_that_runs_well_never_ends() -> None:
    assert len(said(check, other(taken(shared(), "a").at(100)))) == 1


@pytest.mark.parametrize(
    ("kind", "target"), [("redis_away", ""), ("redis_hung", ""), ("redis_slow", ""), ("lag", GATEWAY)]
)
def test_one_that_could_not_be_renewed_ends_by_its_time(kind: str, target: str) -> None:
    story = taken(shared(), "a").at(2).fault(kind, target, amount=20.0)
    assert len(said(check, other(story.at(13)))) == 1
    story = taken(shared(), "a").at(2).fault(kind, target, amount=20.0)
    assert said(check, other(story.at(16))) == []


def test_a_store_that_forgot_all_grants_nothing_while_its_holders_are_well() -> None:
    story = taken(shared(), "a").at(2).fault("redis_empty")
    assert len(said(check, other(story.at(4)))) == 1


def test_it_owes_nothing_to_a_process_that_is_dead() -> None:
    story = crashed().at(2).fault("redis_empty")
    assert said(check, other(story.at(9))) == []


def over() -> Story:
    """Tell of a lease that was lost, granted to somebody else, and taken up again."""
    story = other(taken(shared(), "a").at(2).fault("lag", GATEWAY, amount=20.0).at(16))
    return renewed(story.at(23), "a", "over")


def test_one_that_is_taken_up_again_on_a_full_node_is_excused() -> None:
    assert said(check, over()) == []


def test_nothing_new_is_granted_there_before_the_count_fits() -> None:
    story = released(over().at(30), "b", host="gw2").at(31)
    assert said(check, other(story, "c")) == ["gw2 took lease c of node-0, whose 1 slots are held by a"]


def test_two_answers_may_be_noted_in_the_other_order() -> None:
    story = taken(shared(), "a").at(2).fault("lag", GATEWAY, amount=20.0).at(23)
    assert said(check, other(renewed(story, "a", "over").at(23.1))) == []


def test_a_slot_that_drains_is_taken() -> None:
    story = released(taken(shared(), "a").at(5), "a", drain_s=10.0)
    assert len(said(check, other(story.at(14)))) == 1


def test_it_is_free_when_that_is_over() -> None:
    story = released(taken(shared(), "a").at(5), "a", drain_s=10.0)
    assert said(check, other(story.at(15.1))) == []


def test_it_is_free_when_its_node_was_seen_idle() -> None:
    story = released(taken(shared(), "a").at(5), "a", drain_s=10.0).at(7)
    assert said(check, other(story.note("leases_drained", "gw2", nodes=NODE, ago_s=1.0).at(8))) == []


def test_it_is_taken_while_nobody_has_looked_since_it_drains() -> None:
    story = released(taken(shared(), "a").at(5), "a", drain_s=10.0).at(7)
    drained = story.note("leases_drained", "gw2", nodes=NODE, ago_s=2.5)
    assert len(said(check, other(drained.at(8)))) == 1


@pytest.mark.parametrize(("ago_s", "wrong"), [(0.5, 1), (1.5, 0), (2.5, 0)])
def test_a_store_counts_it_until_it_was_surely_seen_idle(ago_s: float, wrong: int) -> None:
    story = released(taken(shared(), "a").at(5), "a", drain_s=10.0).at(7)
    drained = story.note("leases_drained", "gw2", nodes=NODE, ago_s=ago_s)
    assert len(said(check, seen(drained.at(9), 1))) == wrong


def test_a_slot_is_refused_to_nobody_who_could_have_it() -> None:
    story = released(taken(shared(), "a").at(5), "a").at(7)
    assert said(check, refused(story)) == ["gw2 was refused node-0, of whose 1 slots at most 0 can be taken"]


def test_a_full_node_is_rightly_refused() -> None:
    assert said(check, refused(taken(shared(), "a").at(5))) == []


def test_word_of_a_release_takes_its_time() -> None:
    assert said(check, refused(released(taken(shared(), "a").at(5), "a").at(5.5))) == []


def test_a_killed_gateways_slot_is_back_within_its_time() -> None:
    assert said(check, refused(crashed().at(16.5))) == []
    assert len(said(check, refused(crashed().at(17.5)))) == 1


def test_a_grant_that_nobody_heard_of_lives_its_time() -> None:
    story = shared().note("leases_unknown", GATEWAY, operation="take", failure="cancelled", nodes=NODE)
    assert said(check, refused(story.at(10))) == []
    assert len(said(check, refused(story.at(17)))) == 1


def test_nothing_is_said_of_refusals_near_a_fault_of_the_store() -> None:
    story = shared().at(5).fault("redis_away").at(9).fault("redis_away", on=False)
    assert said(check, refused(story.at(20))) == []


def test_a_lease_that_the_store_has_lost_is_found() -> None:
    assert said(check, seen(taken(shared(), "a").at(16), 0)) == [
        "the store counts 0 slots of node-0 as taken; held are a"
    ]


def test_a_slot_that_stays_taken_is_found() -> None:
    story = seen(released(taken(shared(), "a").at(5), "a").at(7), 1)
    assert said(check, story) == ["the store counts 1 slots of node-0 as taken, held are 0 at most"]


def test_a_right_count_is_right() -> None:
    assert said(check, seen(taken(shared(), "a").at(5), 1)) == []


def test_a_token_that_loads_a_model_needs_no_lease() -> None:
    story = taken(Story(), "a").asked(1, NODE).asked(2, NODE, call="")
    assert said(check, story) == []


def test_a_node_that_is_asked_under_a_lease_is_right() -> None:
    assert said(check, taken(Story(), "a").asked(1, NODE)) == []


def test_a_node_that_is_asked_without_a_lease_is_found() -> None:
    story = released(taken(Story(), "a").asked(1, NODE), "a").asked(2, NODE, call="2")
    assert said(check, story) == ["gw1 asked node-0 (exchange 2) without a lease"]


def test_a_grant_that_a_failover_lost_may_be_given_to_another() -> None:
    story = taken(shared().at(1).fault("redis_failover").at(2), "a").at(3).fault("redis_failover", on=False)
    assert said(check, other(story.at(4))) == []


def test_one_that_was_renewed_after_the_failover_may_not() -> None:
    story = taken(shared().at(1).fault("redis_failover").at(2), "a").at(3).fault("redis_failover", on=False)
    assert len(said(check, other(renewed(story.at(6), "a", "regained").at(9)))) == 1
