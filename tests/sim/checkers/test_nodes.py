"""Nodes that must not be asked, and answers that must not arrive; a part of I12."""

import pytest

from sim.checkers.i12_forbidden import check
from sim.journal.fact import Value
from tests.sim.checkers.story import GATEWAY, NODE, Story, said


def looked(story: Story, **found: Value) -> Story:
    members: dict[str, Value] = {"look": "answered", "misses": 0, "draining": False, "cold": False}
    return story.note("node_looked", "gw2", node=NODE, **(members | found))


def asked(story: Story, at: float, call: str = "1") -> Story:
    return story.at(at).sent(call).asked(1, NODE, call=call)


@pytest.mark.parametrize(("name", "why"), [("draining", "drains"), ("cold", "has no model in memory")])
def test_a_node_that_a_look_has_found_so_is_asked_no_more(name: str, why: str) -> None:
    story = looked(asked(looked(Story().at(10), **{name: True}), 14).at(15))
    assert said(check, story) == [f"gw1 asked node-0 (exchange 1), gw2 saw at 10.000 s that it {why}"]


@pytest.mark.parametrize("name", ["draining", "cold"])
def test_it_may_be_asked_before_that_was_read(name: str) -> None:
    assert said(check, looked(asked(looked(Story().at(10), **{name: True}), 12).at(15))) == []


def test_it_may_be_asked_when_a_look_says_so_no_more() -> None:
    story = looked(looked(Story().at(10), draining=True).at(15))
    assert said(check, asked(story, 16)) == []


def test_a_look_that_missed_says_nothing_new() -> None:
    story = looked(looked(Story().at(10), draining=True).at(15), look="missed")
    assert len(said(check, looked(asked(story, 16).at(20)))) == 1


def test_a_load_that_is_over_opens_it() -> None:
    story = looked(Story().at(10), cold=True).at(13).note("model_loaded", NODE, node=NODE)
    assert said(check, asked(story, 14)) == []


def test_a_token_that_loads_it_is_no_call() -> None:
    assert said(check, looked(asked(looked(Story().at(10), cold=True), 14, "").at(15))) == []


@pytest.mark.parametrize("kind", ["host_up", "drain_begun"])
def test_a_gateway_that_began_since_knows_of_nothing(kind: str) -> None:
    story = looked(Story().at(10), draining=True).at(11).note(kind, GATEWAY)
    assert said(check, looked(asked(story, 14).at(15))) == []


def test_one_that_could_not_read_knows_of_nothing() -> None:
    story = looked(Story().at(10), draining=True).at(11)
    story.note("leases_unknown", GATEWAY, operation="read", failure="away")
    assert said(check, looked(asked(story, 14).at(15))) == []


def loading() -> Story:
    story = Story().sent("9").asked(9, NODE, call="9").note("fault_active", NODE, id="FN4", target=NODE, call="9")
    return story.at(1).failed(9, NODE, call="9", status=503)


def test_a_node_that_said_that_it_loads_is_asked_no_more() -> None:
    assert said(check, asked(loading(), 5).at(9).over()) == [
        "gw1 asked node-0 (exchange 1), it had said at 1.000 s that it loads"
    ]


def test_it_is_asked_when_it_has_loaded() -> None:
    assert said(check, asked(loading().at(4).note("model_loaded", NODE, node=NODE), 5).at(9).over()) == []


def health(story: Story, value: int) -> Story:
    return story.note("gauge", GATEWAY, name="node_health", label=NODE, value=value)


def test_a_node_that_is_down_is_asked_no_more() -> None:
    story = health(asked(health(Story().at(10), 2), 14).at(15), 0)
    assert "gw1 asked node-0 (exchange 1), gw1 said at 10.000 s that it is down" in said(check, story)


def test_a_suspect_one_may_be_asked() -> None:
    assert said(check, health(asked(health(Story().at(10), 1), 14).at(15), 0)) == []


def answered(text: str, *, engine: str = "vllm") -> Story:
    story = Story().setting(f"engine:{NODE}", engine).sent().asked(1, NODE)
    return story.told(1, NODE, text="a b c", other_model=True).ended(text=text)


def test_text_of_another_model_reaches_nobody() -> None:
    assert said(check, answered("a b")) == ["its client got text of node-0, which answered with another model"]


def test_an_answer_that_was_refused_is_right() -> None:
    assert said(check, answered("")) == []


def test_engines_that_name_anything_are_believed() -> None:
    assert said(check, answered("a b", engine="tgi")) == []
