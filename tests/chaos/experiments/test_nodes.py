"""What is expected of nodes that are full, load, mix models up and fail together: each promise is broken once."""

from collections.abc import Callable

import pytest

from chaos.experiments.all_of_them import EXPERIMENTS
from chaos.experiments.experiment import Broken
from tests.chaos.experiments.seen import failing
from tests.chaos.experiments.story import RunStory
from tests.chaos.experiments.targets_story import asked, met

Tell = Callable[[RunStory], object]

FN7_BEGINS_S = 10.0


def figure_of(name: str, broken: Broken) -> float:
    figure = EXPERIMENTS[name].figure
    assert figure is not None
    return figure.of(broken)


@pytest.mark.parametrize(
    ("name", "row", "word"), [("node-full", "FN2", "busy"), ("node-other-model", "FN5", "wrong_model")]
)
def test_whoever_met_a_node_in_vain_must_be_answered_elsewhere(name: str, row: str, word: str) -> None:
    story = RunStory()
    met(story, 12.0, row, "node-0", attempts=f"local/node-0:{word}, local/node-1:ok")
    assert failing(name, story.over()) == set()
    met(story, 13.0, row, "node-0", "error", status=502, attempts=f"local/node-0:{word}")
    assert {"1 of 2 that met it go on and are answered elsewhere", "1 of 2 are answered"} <= failing(
        name, story.over()
    )


def test_calls_that_fail_at_a_full_node_are_counted() -> None:
    story = RunStory()
    met(story, 13.0, "FN2", "node-0", "error", status=503)
    assert figure_of("node-full", story.over()) == 1.0


def test_a_client_that_sees_words_of_another_model_is_found() -> None:
    story = RunStory()
    met(story, 12.0, "FN5", "node-0", attempts="local/node-0:wrong_model, local/node-1:ok")
    name = story.call(13.0, text="7.1 7.2 ")
    asked(story, 13.0, name, "node-0", text="7.1 7.2 7.3 ", other_model=True)
    broken = story.over()
    assert failing("node-other-model", broken) == {"1 clients see something of it"}
    assert figure_of("node-other-model", broken) == 1.0


# FN4


def cold(story: RunStory, *, by: str = "cloud-a", loading: str = "local/node-1:loading, ") -> Broken:
    met(story, 17.6, "FN4", "node-1", by=by, attempts=f"{loading}{by}:ok")
    story.call(18.0, by=by)
    story.note(19.5, "model_loaded", "node-0", node="node-0")
    asked(story, 19.8, story.call(19.8), "node-0")
    return story.over()


def test_a_model_that_is_loaded_beside_the_calls_holds() -> None:
    assert failing("nodes-cold", cold(RunStory())) == set()


def test_a_call_that_waits_for_a_load_is_found_and_counted() -> None:
    broken = cold(RunStory(), by="node-0")
    assert failing("nodes-cold", broken) == {"0 of 2 that come while the model is away are answered by the cloud"}
    assert figure_of("nodes-cold", broken) == 3.0


def test_a_call_that_does_not_say_who_loads_is_found() -> None:
    assert failing("nodes-cold", cold(RunStory(), loading="")) == {
        "0 of 1 that met a node which loads go on and are answered elsewhere"
    }


def test_a_model_that_is_never_loaded_is_found() -> None:
    story = RunStory()
    met(story, 17.6, "FN4", "node-1", by="cloud-a", attempts="local/node-1:loading, cloud-a:ok")
    assert failing("nodes-cold", story.over()) == {"it is loaded beside them 0 times, 0 calls use it then"}


# FN7: of this one the fault lasts longer than a story's; what matters is when calls come after it began


def all_bad(
    story: RunStory,
    *,
    distrusted: bool = True,
    kept: str = "done",
    by: str = "cloud-a",
    code: str = "no_node_available",
) -> Broken:
    began_at = FN7_BEGINS_S
    if distrusted:
        story.note(began_at + 12.0, "log", "gw1", level="error", name="probe_distrusted", text="nodes=3")
    story.call(began_at + 18.0, kept, placement="nodes_only")
    story.call(began_at + 22.0, by=by)
    story.call(began_at + 22.5, "error", status=503, code=code, placement="nodes_only")
    return Broken(story.over().journal, began_at, began_at + 24.0)


def test_looks_that_are_distrusted_and_a_cloud_that_answers_hold() -> None:
    assert failing("nodes-all-bad", all_bad(RunStory())) == set()


def test_each_broken_promise_about_nodes_that_fail_together_is_found() -> None:
    assert failing("nodes-all-bad", all_bad(RunStory(), distrusted=False)) == {
        "looks are distrusted 0 times, nodes answer 1 of 1"
    }
    assert failing("nodes-all-bad", all_bad(RunStory(), by="node-1")) == {"then the cloud answers 0 of 1"}
    assert failing("nodes-all-bad", all_bad(RunStory(), code="upstream_error")) == {
        "0 of 1 calls of the nodes alone are told so"
    }


def test_nodes_that_are_given_up_though_they_are_well_are_found_and_counted() -> None:
    broken = all_bad(RunStory(), kept="error")
    assert failing("nodes-all-bad", broken) == {"looks are distrusted 1 times, nodes answer 0 of 1"}
    assert figure_of("nodes-all-bad", broken) == 1.0
