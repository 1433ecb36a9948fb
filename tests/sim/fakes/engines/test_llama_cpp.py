"""llama.cpp's habits, by name."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from ktms.domain.routing.timers import Timers
from sim.draft import VENDOR_MODEL
from tests.sim.fakes.desk import Desk, chat, whole
from tests.sim.fakes.targets import LLAMA_CPP

Make = Callable[..., Desk]


def test_the_name_of_the_model_is_not_looked_at(desk: Make) -> None:
    assert desk(LLAMA_CPP).post(whole(model="whatever")).status == 200


def test_503_while_it_loads_health_included(desk: Make) -> None:
    at = desk(LLAMA_CPP)
    at.target.quirks.loading = True
    for seen in (at.post(whole()), at.get("/health"), at.get("/props")):
        assert (seen.status, seen.error.message, seen.error.type) == (503, "Loading model", "unavailable_error")
    assert at.get("/v1/models").json["data"][0]["meta"] is None
    assert at.suffered == ["FN4"]


def test_a_prompt_beyond_the_window_says_both_numbers(desk: Make) -> None:
    seen = desk(replace(LLAMA_CPP, window=10)).post(whole(messages=[{"role": "user", "content": "word " * 20}]))
    assert (seen.status, seen.error.type) == (400, "exceed_context_size_error")
    assert (seen.json["error"]["n_prompt_tokens"], seen.json["error"]["n_ctx"]) == (26, 10)


@pytest.mark.parametrize("options", [{}, {"include_usage": True}])
def test_timings_come_with_the_last_chunk(desk: Make, options: dict[str, bool]) -> None:
    seen = desk(LLAMA_CPP).post(chat(tokens=4, stream_options=options))
    assert seen.chunks[-1]["timings"]["predicted_n"] == 4
    assert [chunk for chunk in seen.chunks[:-1] if "timings" in chunk] == []


def test_a_whole_answer_has_timings_too(desk: Make) -> None:
    assert desk(LLAMA_CPP).post(whole(tokens=4)).json["timings"]["predicted_n"] == 4


def test_comments_come_while_a_long_prompt_is_read(desk: Make) -> None:
    seen = desk(replace(LLAMA_CPP, first_token_s=90.0)).post(timers=Timers(5, 5, 500, 45, 600))
    assert seen.body.startswith(b":\n\n")
    assert (seen.text, seen.stream.finished) == ("1.1 1.2 1.3 ", True)


@pytest.mark.parametrize("old", [False, True])
def test_an_error_in_a_stream_is_an_event_or_a_field_and_nothing_follows(desk: Make, old: bool) -> None:
    at = desk(LLAMA_CPP)
    at.target.quirks.old_errors = old
    at.target.fault("error_in_200", 1, on=True)
    seen = at.post()
    assert (b"error: {" in seen.body, b"[DONE]" in seen.body) == (old, False)
    assert seen.stream.error is not None
    assert seen.stream.error.message in ("Context size has been exceeded.", "Service unavailable")


def test_it_tells_about_itself(desk: Make) -> None:
    at = desk(LLAMA_CPP)
    assert at.get("/health").json == {"status": "ok"}
    props = at.get("/props").json
    assert (props["total_slots"], props["default_generation_settings"]["n_ctx"]) == (4, 8192)
    assert props["build_info"]
    assert b"llamacpp:requests_processing 0" in at.get("/metrics").body
    (entry,) = at.get("/v1/models").json["data"]
    assert (entry["id"], entry["meta"]["n_ctx"]) == (VENDOR_MODEL, 4 * 8192)  # its slots share one cache
    assert at.get("/nowhere").status == 404


def test_metrics_are_501_unless_it_was_started_with_them(desk: Make) -> None:
    at = desk(LLAMA_CPP)
    at.target.quirks.metrics = False
    assert at.get("/metrics").status == 501


def test_slots_say_who_is_busy_and_can_be_asked_to_fail(desk: Make) -> None:
    at = desk(replace(LLAMA_CPP, slots=1))

    async def look() -> tuple[bytes, bytes, int, int]:
        async with asyncio.TaskGroup() as group:
            idle, free = at.target.respond("GET", "/slots", (), b"", ""), "/slots?fail_on_no_slot=1"
            before = [*idle, *at.target.respond("GET", free, (), b"", "")]
            group.create_task(at.asking())
            await asyncio.sleep(0.1)
            after = [
                *at.target.respond("GET", "/slots", (), b"", ""),
                *at.target.respond("GET", free, (), b"", ""),
            ]
        return before[1].data, after[1].data, before[2].status, after[2].status  # type: ignore[union-attr]  # head, body

    idle, busy, ok, full = at.run(look())
    assert (b'"is_processing":false' in idle, b'"is_processing":true' in busy, ok, full) == (True, True, 200, 503)
