"""What every kind of target has in common, on both ways."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from ktms.domain.call import Route
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from sim.draft import VENDOR_MODEL, NodeDraft, VendorDraft
from sim.fakes.asking import read_asked
from tests.sim.fakes.desk import Desk, chat, whole
from tests.sim.fakes.targets import ALL, OPENAI, TGI, VLLM, path_of

Make = Callable[..., Desk]

KINDS = pytest.mark.parametrize("kind", ALL)
WAYS = pytest.mark.parametrize("wire", [True, False], ids=["wire", "ports"])


@KINDS
@WAYS
def test_a_stream_is_read_to_its_end_and_each_token_has_its_place(desk: Make, kind: str, wire: bool) -> None:
    at = desk(ALL[kind], wire=wire)
    seen = at.post(chat(tokens=4), path=path_of(ALL[kind]))
    assert (seen.status, seen.failure, seen.text) == (200, None, "1.1 1.2 1.3 1.4 ")
    assert (seen.stream.finished, seen.stream.done, seen.stream.error) == (True, True, None)
    assert seen.stream.usage is not None
    assert seen.stream.usage.completion_tokens == 4
    told = at.told.members
    assert (told["how"], told["text"], told["finished"], told["status"]) == ("whole", seen.text, True, 200)
    assert (told["call"], told["target"], told["exchange"]) == ("c1", ALL[kind].name, 1)


@KINDS
@WAYS
def test_an_answer_that_is_not_streamed_is_read_whole(desk: Make, kind: str, wire: bool) -> None:
    at = desk(ALL[kind], wire=wire)
    got = at.post(whole(), path=path_of(ALL[kind])).whole()
    assert (got.finished, got.error) == (True, None)
    assert got.usage is not None
    assert got.usage.completion_tokens == 3
    assert b"1.1 1.2 1.3 " in got.body
    assert (at.told.members["text"], at.told.members["finished"]) == ("1.1 1.2 1.3 ", True)


@KINDS
def test_text_completions_are_streamed_and_whole(desk: Make, kind: str) -> None:
    at = desk(ALL[kind])
    path = path_of(ALL[kind], "/completions")
    asked: dict[str, object] = {"model": VENDOR_MODEL, "prompt": "call=c1 tokens=2", "max_tokens": 9}
    seen = at.post(asked | {"stream": True}, path=path)
    assert (seen.text, seen.stream.finished, seen.stream.done) == ("1.1 1.2 ", True, True)
    got = at.post(asked, path=path).whole(Route.COMPLETIONS)
    assert got.finished
    assert b"2.1 2.2 " in got.body


@KINDS
def test_embeddings_hold_one_vector_per_input(desk: Make, kind: str) -> None:
    at = desk(ALL[kind])
    seen = at.post({"model": VENDOR_MODEL, "input": ["call=c7 x", "y"]}, path=path_of(ALL[kind], "/embeddings"))
    assert [row["embedding"][0] for row in seen.json["data"]] == [1.0, 1.0]
    assert seen.whole(Route.EMBEDDINGS).finished
    assert (at.told.members["call"], at.told.members["finished"]) == ("c7", True)


@KINDS
@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_5xx_has_a_message_that_is_understood(desk: Make, kind: str, status: int) -> None:
    at = desk(ALL[kind])
    at.target.fault("status", float(status), on=True)
    seen = at.post(path=path_of(ALL[kind]))
    assert seen.status == status
    assert seen.error.message not in ("", "the upstream gave no message")
    assert at.suffered == ["FV1"]
    assert at.told.members["how"] == "whole"


@KINDS
def test_the_same_seed_gives_the_same_bytes_at_the_same_times(desk: Make, kind: str) -> None:
    def run(seed: int) -> tuple[bytes, str, str]:
        at = desk(ALL[kind], seed=seed)
        seen = at.post(path=path_of(ALL[kind]))
        return seen.body, at.journal.digest(), at.trace.digest()

    assert run(5) == run(5)
    assert run(5)[1:] != run(6)[1:]


def test_a_call_left_out_changes_nothing_for_the_others(desk: Make) -> None:
    def took(*calls: str) -> float:
        at = desk(OPENAI)
        return [at.post(whole(call)).took_s for call in calls][-1]

    assert took("a", "b") == pytest.approx(took("b"), abs=0.01)  # the first one of a connection dials
    assert took("b", "b") != pytest.approx(took("b"), abs=0.01)


@KINDS
def test_less_than_asked_is_cut_by_max_tokens(desk: Make, kind: str) -> None:
    at = desk(ALL[kind])
    seen = at.post(chat(tokens=9, max_tokens=2), path=path_of(ALL[kind]))
    assert seen.text == "1.1 1.2 "
    assert [c["finish_reason"] for chunk in seen.chunks for c in chunk["choices"]][-1] == "length"


def test_usage_comes_only_where_it_was_asked_for(desk: Make) -> None:
    at = desk(OPENAI)
    assert at.post(chat(stream_options={})).stream.usage is None
    assert at.told.members["usage_given"] is False


@pytest.mark.parametrize("request_of", [chat, whole])
def test_some_vendors_never_give_usage(desk: Make, request_of: Callable[[], dict[str, object]]) -> None:
    at = desk(replace(OPENAI, gives_usage=False))
    seen = at.post(request_of())
    assert b'"completion_tokens"' not in seen.body
    assert at.told.members["usage_given"] is False


def test_tokens_can_be_joined_into_fewer_pieces(desk: Make) -> None:
    at = desk(OPENAI, wire=False, tokens_per_piece=4)
    seen = at.post(chat(tokens=10))
    assert seen.text == "".join(f"1.{n} " for n in range(1, 11))
    assert (seen.stream.finished, at.told.members["text"]) == (True, seen.text)


@WAYS
def test_a_gateway_that_leaves_ends_the_answer_at_once(desk: Make, wire: bool) -> None:
    at = desk(OPENAI, wire=wire)

    async def leave() -> None:
        async with asyncio.timeout(5):
            await at.asking(chat(tokens=100_000))

    with pytest.raises(TimeoutError):
        at.run(leave())
    at.pass_s(0.1)
    told = at.told
    assert (told.members["how"], told.members["finished"], told.members["visible"]) == ("left", False, True)
    assert told.at == pytest.approx(at.facts("asked")[0].at + 5, abs=0.05)
    assert at.target.busy == 0


@WAYS
def test_an_answer_whose_first_step_is_never_taken_is_told_all_the_same(desk: Make, wire: bool) -> None:
    at = desk(OPENAI, wire=wire)
    asked = read_asked(1, "/v1/chat/completions", (), json.dumps(chat()).encode())
    assert asked is not None
    at.target.answer(asked, "gateway").close()
    assert at.told.members["how"] == "left"


@pytest.mark.parametrize("draft", [VLLM, ALL["ollama"], ALL["llama_cpp"]], ids=["vllm", "ollama", "llama_cpp"])
def test_what_is_asked_beyond_the_slots_waits_its_turn(desk: Make, draft: NodeDraft) -> None:
    at = desk(replace(draft, slots=1))

    async def ask_three() -> list[float]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(at.asking(whole(f"c{n}", 20))) for n in range(3)]
            await asyncio.sleep(0.1)
            assert (at.target.busy, at.target.running, at.target.waiting) == (3, 1, 2)
        return [task.result().took_s for task in tasks]

    took = sorted(at.run(ask_three()))
    assert took[2] > 2 * took[0]


def test_tgi_refuses_beyond_its_slots(desk: Make) -> None:
    at = desk(replace(TGI, slots=1))

    async def ask_two() -> list[int]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(at.asking(whole(f"c{n}"))) for n in range(2)]
        return [task.result().status for task in tasks]

    assert sorted(at.run(ask_two())) == [200, 429]
    assert at.suffered == ["FN2"]


def test_shares_of_errors_and_of_429_are_those_of_the_draft(desk: Make) -> None:
    at = desk(VendorDraft("cloud-a", error_share=0.2, busy_share=0.3))
    statuses = [at.post(whole(f"c{n}", 1)).status for n in range(300)]
    assert 40 < sum(status >= 500 for status in statuses) < 80
    assert 65 < statuses.count(429) < 115
    assert set(at.suffered) == {"FV1", "FV7"}


def test_probes_are_no_exchanges(desk: Make) -> None:
    at = desk(OPENAI)
    assert at.get("/v1/models").json["data"][0]["id"] == VENDOR_MODEL
    assert at.facts("asked") == []


@pytest.mark.parametrize(("kind", "failure"), [("silent", FailureKind.TOTAL_TIMEOUT), ("status", None)])
def test_probes_suffer_what_keeps_a_target_from_answering(
    desk: Make, kind: str, failure: FailureKind | None
) -> None:
    at = desk(VLLM)
    at.target.fault(kind, 503.0, on=True)
    if failure is None:
        assert at.get("/health").status == 503
    else:
        assert at.get("/health", timers=Timers(5, 5, 60, 45, 20)).failure is failure


def test_faults_that_are_over_are_over(desk: Make) -> None:
    at = desk(OPENAI)
    for on, status in ((True, 502), (False, 200)):
        at.target.fault("status", 502.0, on=on)
        assert at.post(whole()).status == status


@KINDS
def test_what_is_no_json_object_is_refused(desk: Make, kind: str) -> None:
    at = desk(ALL[kind])
    seen = at.post(b"[1]", path=path_of(ALL[kind]))
    assert seen.status in (400, 422)
    assert seen.error.message
    assert at.told.members["call"] == ""


@KINDS
def test_reasoning_is_visible_and_counted(desk: Make, kind: str) -> None:
    at = desk(ALL[kind])
    at.target.quirks.thinking_tokens = 2
    seen = at.post(chat(tokens=4), path=path_of(ALL[kind]))
    assert seen.text == "1.1 1.2 1.3 1.4 "
    named = [name for name in (b'"reasoning"', b'"reasoning_content"') if name in seen.body]
    assert len(named) == (0 if kind == "tgi" else 1)


@KINDS
def test_another_model_can_be_named_than_was_asked(desk: Make, kind: str) -> None:
    at = desk(ALL[kind])
    at.target.quirks.answers_as = "somebody-else"
    seen = at.post(path=path_of(ALL[kind]))
    assert {chunk["model"] for chunk in seen.chunks} - {""} == {"somebody-else"}
    assert at.suffered == ["FN5"]
