"""Contract of `ktms/ports/lease_store.py`: one suite for every implementation."""

import asyncio
import itertools

import pytest

from ktms.domain.ids import NodeName
from ktms.ports.lease_store import Lease, LeaseStoreAway, SlotWish
from tests.contracts.fleet_stage import LINUX, MAC, Make, Replica, eventually

SHORT_S = 0.2
"""A time to live whose end is waited for. Nothing is concluded from its not being over yet."""


async def test_a_free_slot_is_granted_on_the_first_node_wished(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    grant = await replica.take("a", SlotWish(MAC, 2), SlotWish(LINUX, 1))
    assert grant.lease == Lease(grant.lease.id, MAC, 2) if grant.lease else False
    assert grant.busy == (1,)


async def test_a_full_node_passes_the_wish_on(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    await replica.take("a", SlotWish(MAC, 1))
    grant = await replica.take("b", SlotWish(MAC, 1), SlotWish(LINUX, 3))
    assert grant.lease is not None
    assert (grant.lease.node, grant.busy) == (LINUX, (1, 1))


async def test_nothing_is_granted_when_all_are_full(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    await replica.take("a", SlotWish(MAC, 1))
    grant = await replica.take("b", SlotWish(MAC, 1), SlotWish(LINUX, 0))
    assert (grant.lease, grant.busy) == (None, (1, 0))


async def test_nothing_is_granted_where_nothing_is_wished(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    assert (await replica.take("a")).lease is None


async def test_never_more_leases_than_slots_however_many_ask_at_once(fleet: Make) -> None:
    stage = await fleet()
    replicas = [await stage.replica(name) for name in ("gw1", "gw2")]
    grants = await asyncio.gather(
        *(replicas[number % 2].take(f"lease-{number}", SlotWish(MAC, 3)) for number in range(20))
    )
    assert sum(grant.lease is not None for grant in grants) == 3


async def test_two_replicas_that_race_for_one_slot_never_both_have_it(fleet: Make) -> None:
    stage = await fleet()
    replicas = [await stage.replica(name) for name in ("gw1", "gw2")]
    won = 0
    for turn in range(1000):
        grants = await asyncio.gather(
            *(replica.take(f"{turn}-{at}", SlotWish(MAC, 1)) for at, replica in enumerate(replicas))
        )
        leases = [grant.lease for grant in grants]
        assert None in leases
        for lease, replica in zip(leases, replicas, strict=True):
            if lease is not None:
                replica.leases.release(lease)
                won += 1
    assert won > 0


async def test_a_released_slot_is_free_again_and_releasing_twice_is_harmless(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    lease = await replica.have("a", SlotWish(MAC, 1))
    other = await replica.have("b", SlotWish(LINUX, 1))
    replica.leases.release(lease)
    replica.leases.release(lease)
    assert (await replica.take("c", SlotWish(MAC, 1))).lease is not None
    assert (await replica.take("d", SlotWish(MAC, 1), SlotWish(other.node, 1))).lease is None


async def test_a_release_said_twice_does_not_free_the_slot_of_the_next(fleet: Make) -> None:
    stage = await fleet()
    first, second = await stage.replica("gw1"), await stage.replica("gw2")
    lease = await first.have("a", SlotWish(MAC, 1))
    first.leases.release(lease)
    await eventually(stage, lambda: _idle(first))
    await second.have("b", SlotWish(MAC, 1))
    first.leases.release(lease)
    assert await first.busy() == 1


async def test_a_take_that_is_repeated_gives_the_same_lease_and_no_second_one(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    await replica.have("z", SlotWish(MAC, 1))
    first = await replica.take("a", SlotWish(MAC, 1), SlotWish(LINUX, 2))
    again = await replica.take("a", SlotWish(MAC, 2), SlotWish(LINUX, 2))
    assert first.lease is not None
    assert again.lease is not None
    assert (first.lease.node, again.lease.node) == (LINUX, LINUX)
    assert (await replica.busy(MAC), await replica.busy(LINUX)) == (1, 1)


async def test_what_a_dead_replica_held_is_free_after_its_time(fleet: Make) -> None:
    stage = await fleet(ttl_s=SHORT_S)
    dead, other = await stage.replica("gw1"), await stage.replica("gw2")
    await dead.have("a", SlotWish(MAC, 1))

    async def free() -> bool:
        return (await other.take("b", SlotWish(MAC, 1))).lease is not None

    await eventually(stage, free)


async def test_a_lease_that_is_renewed_outlives_its_time(fleet: Make) -> None:
    stage = await fleet(ttl_s=SHORT_S)
    living, dead = await stage.replica("gw1"), await stage.replica("gw2")
    await living.have("a", SlotWish(MAC, 2))
    await dead.have("b", SlotWish(MAC, 2))

    async def one_is_left() -> bool:
        await living.leases.renew()
        return await living.busy() == 1

    await eventually(stage, one_is_left)
    renewed = await living.leases.renew()
    assert renewed.kept + len(renewed.regained) == 1


async def test_a_renewal_keeps_all_there_is_however_many(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    for number in range(1200):
        await replica.take(f"lease-{number}", SlotWish(MAC, 2000))
    renewed = await replica.leases.renew()
    assert (renewed.kept, renewed.regained, renewed.over) == (1200, (), ())


async def test_with_nothing_held_a_renewal_keeps_nothing(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    lease = await replica.have("a", SlotWish(MAC, 1))
    replica.leases.release(lease)
    assert (await replica.leases.renew()).kept == 0


async def test_a_renewal_takes_up_again_what_the_store_has_lost(fleet: Make) -> None:
    stage = await fleet()
    replica = await stage.replica("gw1")
    lease = await replica.have("a", SlotWish(MAC, 1))
    await stage.lose()
    renewed = await replica.leases.renew()
    assert (renewed.kept, renewed.regained, renewed.over) == (0, (lease,), ())
    assert (await replica.leases.renew()).kept == 1


async def test_a_lease_taken_up_on_a_full_node_is_over_and_bars_the_next_until_it_fits(fleet: Make) -> None:
    stage = await fleet(ttl_s=SHORT_S)
    late, quick = await stage.replica("gw1"), await stage.replica("gw2")
    names = itertools.count(1)

    async def over_and_barred() -> bool:
        """Lose a lease to another replica; again, where the machine stood still for that one's whole life."""
        node = SlotWish(NodeName(f"mac-{next(names)}"), 1)
        lost = await late.have(f"a {node.node}", node)

        async def taken() -> bool:
            return (await quick.take(f"b {node.node}", node)).lease is not None

        await eventually(stage, taken)
        is_over = lost in (await late.leases.renew()).over
        return is_over and (await quick.take(f"c {node.node}", node)).lease is None

    await eventually(stage, over_and_barred)


async def test_a_store_that_was_lost_knows_nothing_for_a_while(fleet: Make) -> None:
    stage = await fleet()
    replica, other = await stage.replica("gw1"), await stage.replica("gw2")
    await replica.have("a", SlotWish(MAC, 2))
    await stage.lose()
    with pytest.raises(LeaseStoreAway) as away:
        await other.take("b", SlotWish(MAC, 2))
    assert away.value.kind == "unknown"
    await replica.leases.renew()
    assert await other.busy() == 1


async def test_a_store_found_empty_grants_after_its_grace(fleet: Make) -> None:
    stage = await fleet(grace_s=SHORT_S, opened=False)
    replica = await stage.replica("gw1")

    async def granted() -> bool:
        try:
            return (await replica.take("a", SlotWish(MAC, 1))).lease is not None
        except LeaseStoreAway:
            return False

    assert not await granted()
    await eventually(stage, granted)


async def test_a_draining_slot_stays_taken_until_its_time_is_over(fleet: Make) -> None:
    stage = await fleet()
    replica = await stage.replica("gw1")
    replica.leases.release(await replica.have("a", SlotWish(MAC, 1)), drain_s=SHORT_S)
    replica.leases.release(await replica.have("b", SlotWish(LINUX, 1)), drain_s=600)
    assert (await replica.take("c", SlotWish(LINUX, 1))).lease is None

    async def free() -> bool:
        return (await replica.take("d", SlotWish(MAC, 1))).lease is not None

    await eventually(stage, free)
    assert await replica.busy(LINUX) == 1


async def test_a_draining_slot_is_renewed_by_nobody(fleet: Make) -> None:
    stage = await fleet()
    replica = await stage.replica("gw1")
    replica.leases.release(await replica.have("a", SlotWish(MAC, 1)), drain_s=SHORT_S)

    async def free() -> bool:
        return (await replica.leases.renew()).kept == 0 and await replica.busy() == 0

    await eventually(stage, free)


async def test_a_lease_that_the_store_has_lost_leaves_nothing_draining(fleet: Make) -> None:
    stage = await fleet()
    replica = await stage.replica("gw1")
    lease = await replica.have("a", SlotWish(MAC, 1))
    await stage.lose()
    replica.leases.release(lease, drain_s=600)
    assert await replica.busy() == 0


async def _idle(replica: Replica) -> bool:
    return await replica.busy() == 0
