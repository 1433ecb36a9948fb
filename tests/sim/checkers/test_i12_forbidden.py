"""I12: nobody is asked that must not be, by policy or by a gateway that leaves."""

import pytest

from sim.checkers.i12_forbidden import check
from tests.sim.checkers.story import CLOUD, GATEWAY, NODE, Story, said


def test_an_ordinary_call_is_right() -> None:
    assert said(check, Story().answered().over()) == []


def test_a_vendor_for_a_call_on_nodes_alone_is_found() -> None:
    story = Story().sent(placement="nodes_only").asked()
    assert said(check, story) == ["gw1 asked cloud-a, its placement is nodes_only"]


def test_a_node_for_a_call_in_the_cloud_alone_is_found() -> None:
    story = Story().sent(placement="cloud_only").asked(1, NODE)
    assert said(check, story) == ["gw1 asked node-0, its placement is cloud_only"]


@pytest.mark.parametrize(
    ("placement", "first", "second"), [("nodes_first", NODE, CLOUD), ("cloud_first", CLOUD, NODE)]
)
def test_both_kinds_are_right_where_both_are_allowed(placement: str, first: str, second: str) -> None:
    story = Story().sent(placement=placement).asked(1, first).failed(1, first).asked(2, second)
    assert said(check, story) == []


@pytest.mark.parametrize(
    ("placement", "first", "second"), [("nodes_first", CLOUD, NODE), ("cloud_first", NODE, CLOUD)]
)
def test_the_second_choice_is_not_asked_before_the_first(placement: str, first: str, second: str) -> None:
    story = Story().sent(placement=placement).asked(1, first).failed(1, first).asked(2, second)
    assert len(said(check, story)) == 1


def test_a_key_that_may_use_nodes_alone_binds_its_calls() -> None:
    story = Story().setting("placements:app", "nodes_only").sent().asked()
    assert len(said(check, story)) == 1


def test_the_first_placement_of_a_key_is_its_default() -> None:
    story = Story().setting("placements:app", "cloud_only|nodes_first").sent().asked(1, NODE)
    assert len(said(check, story)) == 1


def test_a_call_may_choose_another_placement_of_its_key() -> None:
    story = (
        Story().setting("placements:app", "cloud_only|nodes_first").sent(placement="nodes_first").asked(1, NODE)
    )
    assert said(check, story) == []


def test_the_placement_of_the_gateway_counts_where_nobody_else_says_one() -> None:
    assert len(said(check, Story().setting("placement", "nodes_only").sent().asked())) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models"),
        ("GET", "/openai/v1/models"),
        ("GET", "/metrics"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/openai/v1/embeddings"),
    ],
)
def test_paths_of_the_api_are_right(method: str, path: str) -> None:
    assert said(check, Story().note("path_seen", target=NODE, method=method, path=path)) == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "http://x/v1/models"),
        ("GET", "//v1/models"),
        ("GET", "/v1%2Fmodels"),
        ("GET", "/models"),
        ("POST", "/v1/models"),
        ("POST", "/metrics"),
        ("POST", "/v1/chat/completions?x=1"),
        ("POST", "/v1/%2e%2e/api/delete"),
        ("DELETE", "/api/delete"),
    ],
)
def test_n30_any_other_path_is_found(method: str, path: str) -> None:
    (what,) = said(check, Story().note("path_seen", target=NODE, method=method, path=path))
    assert what == f"{NODE} was asked by {method} {path}"


def test_a_call_for_a_gateway_that_has_closed_is_found() -> None:
    story = Story().note("host_up", GATEWAY).at(10).note("drain_begun", GATEWAY).at(17).sent().asked()
    assert said(check, story) == ["gw1, shutting down since 10.000 s, asked cloud-a for a new call"]


def test_a_call_within_the_delay_of_a_shutdown_is_right() -> None:
    story = Story().note("host_up", GATEWAY).at(10).note("drain_begun", GATEWAY).at(14).sent().asked()
    assert said(check, story) == []


def test_the_next_process_takes_calls_again() -> None:
    story = Story().note("host_up", GATEWAY).at(10).note("drain_begun", GATEWAY).at(20).note("host_up", GATEWAY)
    assert said(check, story.at(21).answered()) == []


def test_the_placement_in_the_name_of_a_model_counts() -> None:
    assert len(said(check, Story().sent(model="auto:nodes-only:high").asked())) == 1
    assert len(said(check, Story().sent(model="auto:cloud-only").asked(1, NODE))) == 1


def test_a_header_goes_before_the_name() -> None:
    story = Story().sent(model="auto:cloud-only", placement="nodes_first").asked(1, NODE)
    assert said(check, story) == []
