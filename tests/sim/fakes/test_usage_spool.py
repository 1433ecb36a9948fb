import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.conversation.usage import Usage
from ktms.domain.ids import LOCAL, NodeName, VendorName
from sim.fakes.usage_spool import JournalSpool, SpoolFolder
from sim.journal.fact import Value
from sim.journal.journal import Journal
from tests.usage_events import usage_event

MANY = 1000


def journal() -> Journal:
    return Journal(lambda: 0.0)


def numbers(spool: JournalSpool) -> list[int]:
    return [int(event.id[-6:], 16) for event in spool.oldest(MANY)]


@pytest.mark.parametrize(
    ("vendor", "node", "target"), [("openai", None, "openai"), (LOCAL, NodeName("mac-1"), "mac-1")]
)
def test_the_target_is_the_node_or_else_the_vendor(vendor: VendorName, node: NodeName | None, target: str) -> None:
    facts = journal()
    JournalSpool("gw1", facts, None, MANY).put(usage_event(1, vendor=vendor, node=node))
    assert facts.facts[0].text("target") == target


def test_an_event_is_a_fact_with_its_amounts_when_it_is_recorded() -> None:
    facts, usage = journal(), Usage(prompt_tokens=3, completion_tokens=5, estimated=True)
    event = usage_event(1, usage=usage, status=AttemptStatus.INTERRUPTED)
    JournalSpool("gw1", facts, None, MANY).put(event)
    wanted: dict[str, Value] = {
        "status": "interrupted",
        "prompt_tokens": 3,
        "completion_tokens": 5,
        "estimated": True,
    }
    assert facts.has("usage", event_id=event.id, request_id=event.request_id, **wanted)


def test_an_event_that_is_lost_for_want_of_room_is_a_fact() -> None:
    facts = journal()
    spool = JournalSpool("gw1", facts, None, 2)
    for number in range(3):
        spool.put(usage_event(number))
    assert facts.has("usage_dropped", ids=usage_event(0).id)
    assert spool.lost_total == 1


def test_what_is_lost_with_the_process_is_a_fact() -> None:
    facts = journal()
    spool = JournalSpool("gw1", facts, None, MANY)
    spool.put(usage_event(1))
    spool.close()
    assert facts.has("usage_dropped", ids=usage_event(1).id)


def test_what_comes_after_the_end_is_a_fact() -> None:
    facts = journal()
    spool = JournalSpool("gw1", facts, None, MANY)
    spool.close()
    spool.put(usage_event(1))
    assert facts.has("usage_dropped", ids=usage_event(1).id)


def test_a_folder_outlives_its_process() -> None:
    folder = SpoolFolder()
    JournalSpool("gw1", journal(), folder, 1).put(usage_event(1))
    heir = JournalSpool("gw1", journal(), folder, 1)
    heir.put(usage_event(2))
    assert numbers(heir) == [1, 2]


def test_after_a_kill_some_of_what_was_sent_comes_again() -> None:
    folder = SpoolFolder()
    dead = JournalSpool("gw1", journal(), folder, 1)
    for number in range(3):
        dead.put(usage_event(number))
    dead.oldest(2)
    dead.forget(2)
    assert numbers(JournalSpool("gw1", journal(), folder, 1)) == [0, 1, 2]


def test_after_a_stop_in_order_nothing_comes_again() -> None:
    folder = SpoolFolder()
    spool = JournalSpool("gw1", journal(), folder, 1)
    spool.put(usage_event(1))
    spool.oldest(1)
    spool.forget(1)
    spool.close()
    assert JournalSpool("gw1", journal(), folder, 1).depth == 0
