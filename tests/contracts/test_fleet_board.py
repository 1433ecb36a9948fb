"""Contract of `ktms/ports/fleet_board.py`: one suite for every implementation."""

from ktms.domain.capacity.engine_metrics import EngineLoad
from ktms.domain.capacity.node_report import Look, ModelReport, NodeReport
from ktms.domain.ids import NodeName, VendorModel
from ktms.ports.lease_store import SlotWish
from tests.contracts.fleet_stage import LARGE, LINUX, MAC, SMALL, Make, eventually

SHORT_S = 0.2

FULL = NodeReport(
    MAC,
    Look.ANSWERED,
    misses=2,
    draining=True,
    slots=4,
    busy=3,
    models={VendorModel("qwen3:4b"): ModelReport(loaded=True, window=8192, tokens_per_s=41.5)},
    load=EngineLoad(running=3, waiting=1, kv_used=0.25),
)


async def test_counts_are_those_of_all_replicas(fleet: Make) -> None:
    stage = await fleet()
    one, other = await stage.replica("gw1"), await stage.replica("gw2")
    await one.have("a", SlotWish(MAC, 4))
    await other.have("b", SlotWish(MAC, 4))
    one.room.join(SMALL, "w")
    view = await one.board.read([MAC, LINUX], [SMALL, LARGE])
    assert view.busy == {MAC: 2, LINUX: 0}
    assert view.waiting == {SMALL: 1, LARGE: 0}


async def test_a_board_with_nothing_on_it_is_empty(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    view = await replica.board.read([], [])
    assert (view.busy, view.waiting, view.seen) == ({}, {}, ())


async def test_a_report_is_read_as_it_was_posted(fleet: Make) -> None:
    stage = await fleet()
    one, other = await stage.replica("gw1"), await stage.replica("gw2")
    await one.board.post([FULL, NodeReport(LINUX, Look.LOADING)])
    (mac, linux) = (await other.board.read([MAC, LINUX], [])).seen
    assert (mac.report, linux.report) == (FULL, NodeReport(LINUX, Look.LOADING))


async def test_only_nodes_that_are_asked_for_are_read(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    await replica.board.post([FULL, NodeReport(LINUX, Look.SPOKE)])
    assert [seen.report.node for seen in (await replica.board.read([LINUX], [])).seen] == [LINUX]


async def test_a_newer_report_replaces_the_older_one(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    await replica.board.post([FULL])
    await replica.board.post([NodeReport(MAC, Look.MISSED, misses=3)])
    (seen,) = (await replica.board.read([MAC], [])).seen
    assert seen.report == NodeReport(MAC, Look.MISSED, misses=3)


async def test_a_token_stands_beside_the_last_look(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    spoke = NodeReport(MAC, Look.SPOKE, models={VendorModel("qwen3:4b"): ModelReport(loaded=True)})
    await replica.board.post([FULL, NodeReport(MAC, Look.SPOKE)])
    await replica.board.post([spoke])
    assert [seen.report for seen in (await replica.board.read([MAC], [])).seen] == [FULL, spoke]


async def test_a_look_stands_beside_the_last_token(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    spoke = NodeReport(MAC, Look.SPOKE)
    await replica.board.post([spoke])
    await replica.board.post([FULL])
    assert [seen.report for seen in (await replica.board.read([MAC], [])).seen] == [FULL, spoke]


async def test_a_report_grows_old_by_the_clock_of_the_store(fleet: Make) -> None:
    stage = await fleet()
    replica = await stage.replica("gw1")
    await replica.board.post([FULL])
    (young,) = (await replica.board.read([MAC], [])).seen
    assert young.age_s >= 0

    async def older() -> bool:
        (seen,) = (await replica.board.read([MAC], [])).seen
        return seen.age_s >= young.age_s + 0.05

    await eventually(stage, older)


async def test_a_whole_fleet_is_read_however_large(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    nodes = [NodeName(f"node-{number}") for number in range(1300)]
    await replica.board.post([NodeReport(node, Look.ANSWERED, slots=number) for number, node in enumerate(nodes)])
    await replica.have("a", SlotWish(nodes[1234], 1))
    replica.room.join(SMALL, "w")
    view = await replica.board.read(nodes, [SMALL])
    assert [seen.report.slots for seen in view.seen] == list(range(1300))
    assert (len(view.busy), view.busy[nodes[1234]], sum(view.busy.values())) == (1300, 1, 1)
    assert view.waiting == {SMALL: 1}


async def test_a_duty_belongs_to_one_replica_who_may_keep_it(fleet: Make) -> None:
    stage = await fleet()
    one, other = await stage.replica("gw1"), await stage.replica("gw2")
    assert await one.board.claim("probe", 600)
    assert not await other.board.claim("probe", 600)
    assert await one.board.claim("probe", 600)
    assert await other.board.claim("another", 600)


async def test_a_duty_that_is_not_kept_passes_on(fleet: Make) -> None:
    stage = await fleet()
    one, other = await stage.replica("gw1"), await stage.replica("gw2")
    assert await one.board.claim("probe", SHORT_S)
    await eventually(stage, lambda: other.board.claim("probe", 600))
    assert not await one.board.claim("probe", 600)


async def test_draining_slots_of_an_idle_engine_are_freed_and_leases_stay(fleet: Make) -> None:
    stage = await fleet()
    replica = await stage.replica("gw1")
    draining = await replica.have("a", SlotWish(MAC, 2))
    await replica.have("b", SlotWish(MAC, 2))
    replica.leases.release(draining, drain_s=600)
    assert await replica.busy() == 2

    async def freed() -> bool:
        await replica.board.drained([MAC, LINUX], await replica.board.moment())
        return await replica.busy() == 1

    await eventually(stage, freed)
    assert (await replica.leases.renew()).kept == 1


async def test_a_slot_that_drains_since_the_look_began_is_not_freed_by_it(fleet: Make) -> None:
    stage = await fleet()
    replica = await stage.replica("gw1")
    lease = await replica.have("a", SlotWish(MAC, 2))
    looked_from = await replica.board.moment()
    replica.leases.release(lease, drain_s=600)
    await replica.board.drained([MAC], looked_from)
    assert await replica.busy() == 1


async def test_the_moment_of_the_store_goes_on(fleet: Make) -> None:
    stage = await fleet()
    replica = await stage.replica("gw1")
    began = await replica.board.moment()

    async def later() -> bool:
        return await replica.board.moment() >= began + 0.05

    await eventually(stage, later)
