"""TGI's habits, by name."""

from collections.abc import Callable
from dataclasses import replace

from ktms.domain.routing.timers import Timers
from sim.draft import VENDOR_MODEL
from tests.sim.fakes.desk import Desk, chat, whole
from tests.sim.fakes.targets import TGI

Make = Callable[..., Desk]


def test_the_name_of_the_model_is_not_looked_at_and_its_own_is_given(desk: Make) -> None:
    seen = desk(TGI).post(whole(model="whatever"))
    assert (seen.status, seen.json["model"]) == (200, VENDOR_MODEL)


def test_a_prompt_beyond_the_window_is_422_with_a_flat_error(desk: Make) -> None:
    seen = desk(replace(TGI, window=10)).post(whole(messages=[{"role": "user", "content": "word " * 20}]))
    assert seen.status == 422
    assert seen.json["error"].startswith("Input validation error: `inputs` must have less than 10 tokens")
    assert (seen.error.type, seen.error.status) == ("validation", 422)


def test_prompt_and_answer_together_must_fit(desk: Make) -> None:
    assert desk(replace(TGI, window=100)).post(whole(max_tokens=99)).status == 422


def test_429_is_overloaded_and_has_no_retry_after(desk: Make) -> None:
    at = desk(replace(TGI, slots=0))
    seen = at.post(whole())
    assert (seen.status, seen.error.type, seen.header("retry-after")) == (429, "overloaded", None)
    assert at.suffered == ["FN2"]


def test_an_error_in_a_stream_is_the_same_flat_object(desk: Make) -> None:
    at = desk(TGI)
    at.target.fault("error_in_200", 1, on=True)
    seen = at.post()
    assert isinstance(seen.chunks[-1]["error"], str)
    assert seen.chunks[-1]["error_type"] in ("generation", "incomplete_generation")
    assert seen.stream.error is not None
    assert not seen.stream.done


def test_comments_come_while_a_long_prompt_is_read(desk: Make) -> None:
    seen = desk(replace(TGI, first_token_s=90.0)).post(timers=Timers(5, 5, 500, 45, 600))
    assert seen.body.startswith(b":\n\n")
    assert seen.stream.finished


def test_chunks_have_no_id_and_the_role_in_each(desk: Make) -> None:
    seen = desk(TGI).post(chat(tokens=2))
    assert {chunk["id"] for chunk in seen.chunks} == {""}
    assert [choice["delta"]["role"] for chunk in seen.chunks for choice in chunk["choices"]] == ["assistant"] * 3


def test_it_tells_about_itself(desk: Make) -> None:
    at = desk(TGI)
    for path in ("/health", "/ping", "/"):
        assert at.get(path).status == 200
    info = at.get("/info").json
    assert (info["max_concurrent_requests"], info["max_total_tokens"], bool(info["router"])) == (4, 8192, True)
    assert b"tgi_batch_current_size 0" in at.get("/metrics").body
    assert at.get("/v1/models").json["data"][0]["created"] == 0
    assert at.get("/nowhere").status == 404


def test_health_is_503_while_it_loads(desk: Make) -> None:
    at = desk(TGI)
    at.target.quirks.loading = True
    assert at.get("/health").json == {"error": "unhealthy", "error_type": "healthcheck"}
