from ktms.adapters.memory.snapshot_file import MemorySnapshotFile
from sim.fakes.snapshot_file import JournalSnapshotFile
from sim.journal.journal import Journal
from tests.saved_snapshots import saved_snapshot_of, verified_key


async def test_each_use_is_a_fact_with_the_keys_and_no_secret() -> None:
    journal, disk = Journal(lambda: 0.0), MemorySnapshotFile()
    file = JournalSnapshotFile("gw1", journal, disk)
    await file.load()
    await file.save(saved_snapshot_of(version=3, keys=(verified_key(1), verified_key(2))))
    await file.load()
    assert [(fact.kind, fact.host, dict(fact.members)) for fact in journal.facts] == [
        ("snapshot_loaded", "gw1", {"version": 0, "ids": ""}),
        ("snapshot_saved", "gw1", {"version": 3, "ids": "0000000001 0000000002"}),
        ("snapshot_loaded", "gw1", {"version": 3, "ids": "0000000001 0000000002"}),
    ]
