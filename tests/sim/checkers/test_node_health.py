"""How the health of a node may move; a part of I9."""

from sim.checkers.i9_books import check
from tests.sim.checkers.story import GATEWAY, NODE, Story, said


def health(story: Story, value: int, host: str = GATEWAY) -> Story:
    return story.note("gauge", host, name="node_health", label=NODE, value=value)


def ill() -> Story:
    return health(Story().at(100), 1)


def test_a_node_that_has_spoken_is_well_again() -> None:
    story = ill().at(110).asked(1, NODE, call="").at(111).told(1, NODE, call="")
    assert said(check, health(story, 0)) == []


def test_a_node_that_only_answered_is_not() -> None:
    story = ill().at(110).asked(1, NODE, call="").at(111)
    story.told(1, NODE, call="", status=200, text="", visible=False, finished=False)
    assert said(check, health(story, 0)) == [
        "gw1 said that node-0 is healthy; it has generated nothing since 100.000 s, when it was not"
    ]


def test_an_answer_under_way_may_have_spoken() -> None:
    assert said(check, health(ill().at(110).asked(1, NODE, call="").at(111), 0)) == []


def test_news_of_a_token_may_be_a_little_older() -> None:
    story = Story().at(90).asked(1, NODE, call="").at(91).told(1, NODE, call="").at(100)
    assert said(check, health(health(story, 2).at(101), 0)) == []


def test_a_new_process_knows_of_no_illness() -> None:
    story = ill().at(110).note("host_up", GATEWAY).at(111)
    assert said(check, health(story, 0)) == []
