from chaos.experiments.gauges import gauges
from tests.chaos.experiments.story import RunStory


def test_numbers_are_told_apart_by_name_host_and_label() -> None:
    story = RunStory()
    for host, name, label, value in (("a", "x", "", 1.0), ("b", "x", "l", 2.0), ("a", "y", "", 3.0)):
        story.note(11.0, "gauge", host, name=name, label=label, value=value)
    broken = story.over()
    assert gauges(broken, "x") == [1.0, 2.0]
    assert gauges(broken, "x", host="b") == gauges(broken, "x", label="l") == [2.0]
