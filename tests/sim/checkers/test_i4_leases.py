"""I4: never more live leases on a node than slots."""

from sim.checkers.i4_leases import check
from tests.sim.checkers.story import GATEWAY, NODE, Story, said


def taken(story: Story, lease: str, *, slots: int = 1, host: str = GATEWAY) -> Story:
    return story.note("lease_taken", host, lease=lease, node=NODE, slots=slots)


def released(story: Story, lease: str, host: str = GATEWAY) -> Story:
    return story.note("lease_released", host, lease=lease, node=NODE)


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


def crashed_with_a_shared_lease() -> Story:
    story = Story().setting("leases_shared", value=True).setting("lease_ttl_s", 30.0)
    return taken(story, "a").note("host_crashed", GATEWAY)


def test_a_shared_lease_outlives_its_process() -> None:
    assert len(said(check, taken(crashed_with_a_shared_lease().at(29), "b", host="gw2"))) == 1


def test_a_shared_lease_ends_by_itself() -> None:
    assert said(check, taken(crashed_with_a_shared_lease().at(31), "b", host="gw2")) == []


def test_a_node_that_is_asked_under_a_lease_is_right() -> None:
    assert said(check, taken(Story(), "a").asked(1, NODE)) == []


def test_a_node_that_is_asked_without_a_lease_is_found() -> None:
    story = released(taken(Story(), "a").asked(1, NODE), "a").asked(2, NODE, call="2")
    assert said(check, story) == ["gw1 asked node-0 (exchange 2) without a lease"]
