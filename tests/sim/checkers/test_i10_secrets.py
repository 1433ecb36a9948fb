"""I10: no secret in logs, records, metrics and errors."""

import pytest

from sim.checkers.i10_secrets import check
from tests.sim.checkers.story import GATEWAY, Story, said

KEY = "sk-canary-1"


def keyed(what: str = "vendor_key") -> Story:
    return Story().note("secret", what=what, value=KEY)


def test_an_ordinary_call_tells_no_secret() -> None:
    assert said(check, keyed().answered().log("listening", "http=:8080").over()) == []


def test_a_secret_in_a_log_is_found() -> None:
    assert said(check, keyed().log("upstream_failed", f"told={KEY}")) == [
        "a secret (vendor_key) stands in a log of gw1"
    ]


@pytest.mark.parametrize("member", ["code", "attempts"])
def test_a_secret_in_a_record_is_found(member: str) -> None:
    story = keyed().record(**{member: f"cloud-a/={KEY}"})
    assert said(check, story) == ["a secret (vendor_key) stands in a record of gw1"]


def test_a_secret_in_a_usage_event_is_found() -> None:
    assert said(check, keyed().usage(model=KEY)) == ["a secret (vendor_key) stands in a usage of gw1"]


def test_a_secret_in_a_label_is_found() -> None:
    assert said(check, keyed().gauge(2, KEY)) == ["a secret (vendor_key) stands in a gauge of gw1"]


def test_a_secret_in_the_name_of_a_failure_is_found() -> None:
    story = keyed().note("dependency_failed", GATEWAY, dependency="redis", operation="take", failure=KEY)
    assert len(said(check, story)) == 1


def test_a_secret_in_an_error_is_found() -> None:
    story = keyed().sent().ended(outcome="error", status=400, code="bad", message=f"wrong key {KEY}", text="")
    assert said(check, story) == ["a secret (vendor_key) stands in the error that a client got"]


def test_an_answer_may_say_what_it_likes() -> None:
    assert said(check, keyed("prompt").sent().ended(text=KEY)) == []


def test_a_prompt_in_the_error_of_another_call_is_found() -> None:
    story = Story().note("secret", what="prompt", value="my diagnosis", call="1")
    story.sent().ended(outcome="error", status=400, code="my diagnosis")
    story.sent("2").ended("2", outcome="error", status=400, code="my diagnosis")
    assert [violation.call for violation in check(story.journal)] == ["2"]
