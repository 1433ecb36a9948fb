from uuid import UUID

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.engine.ids import Identities


def test_ids_are_uuids_of_version_seven() -> None:
    made = Identities(ManualClock(), SeededEntropy("ids"))
    for text in (made.request(), made.event(), made.lease()):
        assert (UUID(text).version, str(UUID(text))) == (7, text)


def test_ids_of_one_instant_differ() -> None:
    made = Identities(ManualClock(), SeededEntropy("ids"))
    assert len({made.request() for _ in range(1000)}) == 1000


def test_ids_sort_by_time() -> None:
    clock = ManualClock()
    made = Identities(clock, SeededEntropy("ids"))
    ids = []
    for _ in range(20):
        ids.append(made.request())
        clock.advance(0.002)
    assert ids == sorted(ids)
