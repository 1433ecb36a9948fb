"""What agents say."""

import json

from sim.announcements import announcement_of, epoch_ms_of
from sim.draft import AgentDraft, Engine, NodeDraft

MACHINE = NodeDraft("node-0", engine=Engine.AGENT, joins=True)


def test_an_announcement_says_where_its_machine_is_and_when_its_agent_started() -> None:
    agent = AgentDraft("node-0", "node-0", started_s=-1.0)
    request = announcement_of(agent, MACHINE, "token", MACHINE.name)
    said = json.loads(request.body)
    assert (request.method, said["url"], said["epoch"]) == ("PUT", "http://node-0:8000", epoch_ms_of(agent))


def test_a_later_start_is_a_later_epoch() -> None:
    first, second = (epoch_ms_of(AgentDraft("node-0", "node-0", started_s=at_s)) for at_s in (-1.0, 1.5))
    assert second - first == 2500
