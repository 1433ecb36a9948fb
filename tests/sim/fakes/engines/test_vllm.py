"""vLLM's habits, by name."""

from collections.abc import Callable
from dataclasses import replace

from sim.draft import VENDOR_MODEL
from sim.fakes.engines.vllm import OldVllm
from tests.sim.fakes.desk import Desk, chat, whole
from tests.sim.fakes.targets import VLLM

Make = Callable[..., Desk]


def test_an_unknown_model_is_404(desk: Make) -> None:
    seen = desk(VLLM).post(whole(model="other"))
    assert (seen.status, seen.error.type, seen.json["error"]["code"]) == (404, "NotFoundError", 404)


def test_a_prompt_beyond_the_window_is_refused(desk: Make) -> None:
    seen = desk(replace(VLLM, window=10)).post(whole(messages=[{"role": "user", "content": "word " * 20}]))
    assert (seen.status, seen.error.type, seen.error.param) == (400, "BadRequestError", "input_tokens")


def test_prompt_and_answer_together_must_fit_and_the_room_is_told(desk: Make) -> None:
    seen = desk(replace(VLLM, window=100)).post(whole(max_tokens=99))
    assert (seen.status, seen.error.param) == (400, "max_tokens")
    assert "room for 94 tokens" in seen.error.message


def test_what_does_not_fit_any_more_is_cut(desk: Make) -> None:
    seen = desk(replace(VLLM, window=12)).post(chat(tokens=50))
    assert seen.chunks[-2]["choices"][0]["finish_reason"] == "length"


def test_usage_stands_on_every_chunk_for_who_asks(desk: Make) -> None:
    seen = desk(VLLM).post(chat(tokens=3, stream_options={"include_usage": True, "continuous_usage_stats": True}))
    counts = [chunk["usage"] for chunk in seen.chunks if chunk.get("usage")]
    assert [count["completion_tokens"] for count in counts] == [1, 2, 3, 3]
    assert all(count["total_tokens"] == count["prompt_tokens"] + count["completion_tokens"] for count in counts)
    assert seen.text == "1.1 1.2 1.3 "


def test_an_error_in_a_stream_is_followed_by_the_end_mark(desk: Make) -> None:
    at = desk(VLLM, wire=False)
    at.target.fault("error_in_200", 1, on=True)
    seen = at.post()
    assert seen.body.endswith(b'"code":500}}\n\ndata: [DONE]\n\n') or b'"code":503' in seen.body
    assert seen.stream.error is not None
    assert seen.stream.error.type == "InternalServerError"


def test_the_head_comes_before_the_first_token(desk: Make) -> None:
    at = desk(replace(VLLM, first_token_s=5.0))

    async def head_s() -> float:
        began = at.loop.time()
        answer = await at.upstream.send(at.request(chat()))
        answer.close()
        return at.loop.time() - began

    assert at.run(head_s()) < 0.1


def test_old_errors_lie_flat(desk: Make) -> None:
    seen = desk(VLLM, dialect=OldVllm()).post(whole(model="other"))
    assert seen.json["object"] == "error"
    assert (seen.error.type, seen.error.status) == ("NotFoundError", 404)


def test_it_tells_about_itself(desk: Make) -> None:
    at = desk(VLLM)
    assert at.get("/health").status == 200
    assert at.get("/version").json["version"]
    assert at.get("/load").json == {"server_load": 0}
    assert at.get("/v1/models").json["data"][0]["max_model_len"] == VLLM.window
    assert b'vllm:num_requests_running{engine="0"' in at.get("/metrics").body
    assert at.get("/nowhere").json == {"detail": "Not Found"}


def test_health_and_models_are_200_while_it_generates_nothing(desk: Make) -> None:
    at = desk(VLLM)
    at.target.quirks.loading = True
    assert (at.get("/health").status, at.get("/v1/models").json["data"][0]["id"]) == (200, VENDOR_MODEL)
