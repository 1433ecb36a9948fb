import itertools

import pytest

from ktms.node.doctor.cause import Id, Weight
from ktms.node.doctor.causes import CAUSES
from ktms.node.doctor.facts import AgentFacts, EngineFacts, Facts, GatewayFacts, MachineFacts, Port, ServiceFacts
from ktms.node.doctor.finding import Finding, finding
from ktms.node.doctor.judge import causes_among, exit_code, judge, not_seen
from tests.node.nodes import settings

KNOWN_ONLY_BY_NAME = Facts(
    MachineFacts("linux"),
    settings=settings(),
    agent=AgentFacts(alive=True, pid=1),
    filter=Port("127.0.0.1", 8790, is_open=True),
    engine=EngineFacts(
        settings().engine, settings().engine_url, Port("127.0.0.1", 11434, is_open=True), answers=True
    ),
    gateway=GatewayFacts(),
    service=ServiceFacts(),
)


def found(*names: Id) -> list[Id]:
    return [one.id for one in causes_among(Finding(name) for name in names)]


def test_what_is_not_known_accuses_nobody() -> None:
    facts = KNOWN_ONLY_BY_NAME
    assert [one.id for one in judge(facts)] == [Id.MODEL_MISSING]  # all models of an engine that has none
    assert judge(Facts(MachineFacts("darwin"))) == ()


def test_without_settings_nothing_else_is_told() -> None:
    facts = Facts(MachineFacts("linux"), unusable="there is no node.json")
    assert [one.title for one in judge(facts)] == [
        "this machine has no settings that can be used: there is no node.json"
    ]


def test_a_symptom_is_not_told_beside_its_cause() -> None:
    assert found(Id.ENGINE_DOWN, Id.NOT_REACHED) == [Id.ENGINE_DOWN]
    assert found(Id.AGENT_DOWN, Id.TUNNEL_DOWN, Id.SLEEPS, Id.NOT_REACHED, Id.NO_LINGER) == [
        Id.AGENT_DOWN,
        Id.NO_LINGER,
    ]
    assert found(Id.CLOCK_SKEW, Id.GATEWAY_AWAY, Id.TUNNEL_DOWN) == [Id.CLOCK_SKEW]


def test_a_symptom_hides_what_follows_from_it_though_it_is_not_told() -> None:
    assert found(Id.AGENT_PORT_TAKEN, Id.AGENT_DOWN, Id.WRONG_TLS) == [Id.AGENT_PORT_TAKEN]


def test_causes_that_are_independent_are_all_told() -> None:
    assert found(Id.KEY_REFUSED, Id.MODEL_MISSING, Id.DISK_FULL) == [Id.KEY_REFUSED, Id.DISK_FULL]


def test_of_two_causes_at_least_one_is_told() -> None:
    assert [pair for pair in itertools.combinations(Id, 2) if not found(*pair)] == []


def test_no_cause_follows_from_itself_by_any_way() -> None:
    for name in Id:
        reached, ahead = set[Id](), set(CAUSES[name].after)
        while ahead:
            reached |= ahead
            ahead = {more for one in ahead for more in CAUSES[one].after} - reached
        assert name not in reached, name


def test_the_table_holds_each_cause_once() -> None:
    assert list(CAUSES) == list(dict.fromkeys(CAUSES))
    assert set(CAUSES) == set(Id)


def test_causes_that_stop_the_node_come_first() -> None:
    weights = [cause.weight for cause in CAUSES.values()]
    assert weights == sorted(weights, key=[Weight.STOPS, Weight.WARNS, Weight.REMARK].index)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        ((), 0),
        ((Id.LOGIN_NEEDED,), 0),
        ((Id.LOGIN_NEEDED, Id.SLEEPS), 2),
        ((Id.SLEEPS, Id.KEY_REFUSED), 1),
    ],
)
def test_the_exit_code_is_that_of_the_heaviest(names: tuple[Id, ...], code: int) -> None:
    assert exit_code(Finding(name) for name in names) == code


def test_what_could_not_be_looked_at_is_named() -> None:
    facts = Facts(MachineFacts("linux"), gateway=GatewayFacts(key=400, not_asked="no agent runs"))
    assert not_seen(facts) == ("whether the gateway reaches this node: no agent runs",)
    assert not_seen(KNOWN_ONLY_BY_NAME) == ("how many calls the engine serves at once",)


def test_a_place_that_nobody_filled_is_our_own_mistake() -> None:
    with pytest.raises(KeyError):
        _ = finding(Id.ENGINE_DOWN, engine="Ollama").title
