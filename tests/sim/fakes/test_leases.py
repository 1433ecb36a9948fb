from ktms.domain.ids import LeaseId, NodeName
from ktms.ports.lease_store import Lease, SlotWish
from sim.fakes.leases import JournalLeases
from sim.journal.journal import Journal
from sim.trace import Trace

WISH = SlotWish(NodeName("mac-1"), 1)


class Desk:
    """A lease store with its journal and trace."""

    def __init__(self) -> None:
        self.journal = Journal(lambda: 0.0)
        self.trace = Trace()
        self.leases = JournalLeases("gw1", self.journal, self.trace)

    async def take(self, number: int) -> Lease | None:
        return await self.leases.take((WISH,), LeaseId(f"lease-{number}"))


async def test_a_grant_is_a_fact_with_the_slots_it_was_asked_with() -> None:
    desk = Desk()
    await desk.take(1)
    assert desk.journal.has("lease_taken", lease="lease-1", node="mac-1", slots=1)


async def test_a_refusal_is_a_fact() -> None:
    desk = Desk()
    await desk.take(1)
    await desk.take(2)
    assert desk.journal.has("lease_refused", nodes="mac-1")


async def test_a_release_is_one_fact_however_often_it_is_asked_for() -> None:
    desk = Desk()
    lease = await desk.take(1)
    assert lease is not None
    desk.leases.release(lease)
    desk.leases.release(lease)
    assert [fact.kind for fact in desk.journal.facts] == ["lease_taken", "lease_released"]


async def test_held_counts_what_was_not_released() -> None:
    desk = Desk()
    lease = await desk.take(1)
    assert lease is not None
    before = desk.leases.held()
    desk.leases.release(lease)
    assert (before, desk.leases.held()) == (1, 0)


async def test_every_answer_is_in_the_trace() -> None:
    desk = Desk()
    await desk.take(1)
    await desk.take(2)
    assert desk.trace.counts["reply"] == 2
