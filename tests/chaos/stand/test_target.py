"""Targets over real HTTP: what they answer, what they note, and each of their faults."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Sequence

import aiohttp
import pytest

from chaos.stand import modes
from chaos.stand.answering import Pace
from chaos.stand.asked import prompt
from chaos.stand.run_journal import RunJournal
from chaos.stand.target import CHAT, Manner
from chaos.stand.targets import Targets, targets
from sim.journal.fact import Fact

QUICK = Pace(0.001, 0.001)
ASKS = prompt("1", "gw1", 4, "")
MANNERS = (
    Manner("node-0", cloud=False, model="m", window=8192, pace=QUICK),
    Manner("cloud-a", cloud=True, model="m", window=None, pace=QUICK),
)


@pytest.fixture
def journal() -> RunJournal:
    return RunJournal()


@pytest.fixture
async def running(journal: RunJournal) -> AsyncIterator[Targets]:
    async with targets(MANNERS, journal) as opened:
        yield opened


async def ask(
    running: Targets,
    name: str,
    *,
    streamed: bool = True,
    wait_s: float = 5.0,
    key: str = "one",
    content: str = ASKS,
) -> str:
    """Give the body, or how far it came and why not further."""
    text = ""
    body = {"model": "m", "stream": streamed, "messages": [{"role": "user", "content": content}]}
    timeout = aiohttp.ClientTimeout(total=wait_s)
    url = f"http://127.0.0.1:{running[name].port}{CHAT}"
    try:
        headers = {"Authorization": f"Bearer {key}"}
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
            session.post(url, json=body) as response,
        ):
            text = f"{response.status} "
            async for piece in response.content.iter_any():
                text += piece.decode(errors="replace")
    except (aiohttp.ClientError, TimeoutError) as error:
        text += f" {type(error).__name__}"
    return text


async def get(running: Targets, name: str, path: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{running[name].port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


def told(journal: RunJournal) -> Fact:
    (fact,) = journal.of("told")
    return fact


def suffered(journal: RunJournal) -> Sequence[object]:
    return [fact.members["id"] for fact in journal.of("fault_active")]


async def test_a_stream_has_all_its_tokens_and_its_end(running: Targets) -> None:
    text = await ask(running, "cloud-a")
    assert [f"1.{nth} " in text for nth in range(1, 6)] == [True, True, True, True, False]
    assert text.endswith("data: [DONE]\n\n")


async def test_an_answer_that_is_no_stream_is_whole(running: Targets) -> None:
    answer = json.loads((await ask(running, "node-0", streamed=False)).partition(" ")[2])
    assert answer["choices"][0]["message"]["content"] == "1.1 1.2 1.3 1.4 "
    assert answer["usage"]["completion_tokens"] == 4


async def test_a_target_notes_who_asked_for_what_and_what_it_told(running: Targets, journal: RunJournal) -> None:
    await ask(running, "cloud-a")
    (asked,) = journal.of("asked")
    assert [asked.members[name] for name in ("call", "gateway", "cloud", "model")] == ["1", "gw1", True, "m"]
    fact = told(journal)
    assert (fact.members["how"], fact.members["text"], fact.members["finished"]) == (
        *("whole", "1.1 1.2 1.3 1.4 ", True),
    )


async def test_all_targets_number_their_requests_together(running: Targets, journal: RunJournal) -> None:
    for name in ("cloud-a", "node-0"):
        await ask(running, name)
    assert [fact.members["exchange"] for fact in journal.of("asked")] == [1, 2]


async def test_a_node_tells_of_its_window_and_its_load(running: Targets) -> None:
    status, text = await get(running, "node-0", "/v1/models")
    assert (status, json.loads(text)["data"][0]["max_model_len"]) == (200, 8192)
    assert "vllm:num_requests_running" in (await get(running, "node-0", "/metrics"))[1]
    assert (await get(running, "cloud-a", "/metrics"))[0] == 404


async def test_who_refuses_takes_no_connection_until_it_is_over(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.REFUSE, on=True)
    assert "ClientConnectorError" in await ask(running, "cloud-a")
    await running["cloud-a"].mode(modes.REFUSE, on=False)
    assert (await ask(running, "cloud-a")).startswith("200")
    assert [fact.members["on"] for fact in journal.of("fault")] == [True, False]


async def test_a_reset_midway_is_seen_after_some_tokens(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.RESET_MIDWAY, 2, on=True)
    text = await ask(running, "cloud-a")
    assert "1.2 " in text
    assert text.endswith(("ClientPayloadError", "ClientOSError"))
    fact = told(journal)
    assert [fact.members[name] for name in ("how", "text", "finished")] == ["cut", "1.1 1.2 ", False]
    assert suffered(journal) == ["FV3"]


async def test_a_reset_of_an_answer_that_is_no_stream_shows_nothing(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.RESET_MIDWAY, on=True)
    assert (await ask(running, "cloud-a", streamed=False)).endswith("Error")
    assert (told(journal).members["visible"], suffered(journal)) == (False, ["FV1"])


async def test_who_stalls_midway_falls_silent(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.STALL_MIDWAY, 1, on=True)
    text = await ask(running, "cloud-a", wait_s=0.3)
    assert "1.1 " in text
    assert text.endswith("TimeoutError")
    await running["cloud-a"].refuse()  # ends what is under way
    assert (told(journal).members["how"], suffered(journal)) == ("silent", ["FV4"])


async def test_who_is_silent_says_nothing_at_all(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.SILENT, on=True)
    assert await ask(running, "cloud-a", wait_s=0.3) == " TimeoutError"
    await running["cloud-a"].refuse()
    assert (told(journal).members["status"], suffered(journal)) == (0, ["FV2"])


@pytest.mark.parametrize(("status", "row"), [(503, "FV1"), (429, "FV7")])
async def test_a_status_is_answered(running: Targets, journal: RunJournal, status: int, row: str) -> None:
    await running["cloud-a"].mode(modes.STATUS, status, on=True)
    assert (await ask(running, "cloud-a")).startswith(f"{status} ")
    assert (told(journal).members["how"], suffered(journal)) == ("whole", [row])


async def test_an_ill_node_is_ill_for_those_who_look_too(running: Targets) -> None:
    await running["node-0"].mode(modes.STATUS, 500, on=True)
    assert (await get(running, "node-0", "/v1/models"))[0] == 500


async def test_nonsense_is_no_answer(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.GARBAGE, on=True)
    assert "<html>" in await ask(running, "cloud-a")
    assert (told(journal).members["visible"], suffered(journal)) == (False, ["FV9"])


async def test_an_endless_event_does_not_end(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.ENDLESS, on=True)
    assert len(await ask(running, "cloud-a", wait_s=0.5)) > 1 << 20
    assert suffered(journal) == ["FV9"]


async def test_a_healed_target_answers_well(running: Targets) -> None:
    target = running["cloud-a"]
    await target.mode(modes.STATUS, 503, on=True)
    await target.mode(modes.REFUSE, on=True)
    await target.heal()
    assert (await ask(running, "cloud-a")).startswith("200")


async def test_a_client_that_leaves_is_noticed(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.ENDLESS, on=True)
    await ask(running, "cloud-a", wait_s=0.2)
    await running["cloud-a"].refuse()
    assert told(journal).members["how"] == "left"
    assert running.open_for("gw1") == 0


async def test_a_body_of_megabytes_is_read(running: Targets) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": prompt("1", "gw1", 1, "x" * (3 << 20))}]}
    url = f"http://127.0.0.1:{running['cloud-a'].port}{CHAT}"
    data = io.BytesIO(json.dumps(body).encode())
    async with aiohttp.ClientSession() as session, session.post(url, data=data) as response:
        assert response.status == 200


async def test_a_limit_is_for_the_credential_that_was_shown_first(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.LIMITED, 4, on=True)
    answers = [await ask(running, "cloud-a", key=key) for key in ("one", "two", "one")]
    assert [answer[:3] for answer in answers] == ["429", "200", "429"]
    assert [fact.members["retry_after_s"] for fact in journal.of("told")] == [4, None, 4]
    assert suffered(journal) == ["FV7", "FV7"]


@pytest.mark.parametrize(("meant", "word"), [(400, "context_length_exceeded"), (429, "rate_limit_exceeded")])
async def test_an_error_inside_of_a_200_is_a_200(
    running: Targets, journal: RunJournal, meant: int, word: str
) -> None:
    await running["cloud-a"].mode(modes.MEANING, meant, on=True)
    streamed, whole = await ask(running, "cloud-a"), await ask(running, "cloud-a", streamed=False)
    assert streamed.startswith("200 data: {")
    assert whole.startswith("200 {")
    assert word in streamed
    assert word in whole
    assert [fact.members["meant"] for fact in journal.of("fault_active")] == [meant, meant]


async def test_who_takes_none_at_once_is_always_busy(running: Targets, journal: RunJournal) -> None:
    await running["node-0"].mode(modes.FULL, 0, on=True)
    assert (await ask(running, "node-0")).startswith('503 {"error":{"message":"Model is overloaded"')
    assert suffered(journal) == ["FN2"]


async def test_who_loads_says_so_to_everybody(running: Targets, journal: RunJournal) -> None:
    await running["node-0"].mode(modes.LOADING, on=True)
    assert "Loading model" in await ask(running, "node-0")
    assert (await get(running, "node-0", "/v1/models"))[0] == 503
    await running["node-0"].mode(modes.LOADING, on=False)
    assert (await ask(running, "node-0")).startswith("200")
    assert [fact.kind for fact in journal.of("model_gone", "model_loaded")] == ["model_gone", "model_loaded"]


async def test_a_model_that_was_evicted_is_loaded_for_who_asks(running: Targets, journal: RunJournal) -> None:
    await running["node-0"].mode(modes.EVICTED, 0.05, on=True)
    assert '"unloaded"' in (await get(running, "node-0", "/v1/models"))[1]
    assert (await ask(running, "node-0")).startswith("200")
    assert '"unloaded"' not in (await get(running, "node-0", "/v1/models"))[1]
    (asked,), (loaded,), (answered,) = (list(journal.of(kind)) for kind in ("asked", "model_loaded", "told"))
    assert asked.at + 0.04 < loaded.at <= answered.at


async def test_another_model_answers_under_its_own_name(running: Targets, journal: RunJournal) -> None:
    await running["node-0"].mode(modes.OTHER_MODEL, on=True)
    assert '"model":"chaos-model-2"' in await ask(running, "node-0")
    assert (told(journal).members["other_model"], suffered(journal)) == (True, ["FN5"])


async def test_who_is_not_seen_answers_calls_all_the_same(running: Targets) -> None:
    await running["node-0"].mode(modes.UNSEEN, on=True)
    assert (await get(running, "node-0", "/v1/models"))[0] == 500
    assert (await ask(running, "node-0", content="Hi")).startswith("500")
    assert (await ask(running, "node-0")).startswith("200")


async def test_a_gigantic_answer_is_as_long_as_was_wished(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.GIGANTIC, 2, on=True)
    text = await ask(running, "cloud-a")
    assert len(text) > 2 << 20
    assert text.count("data: ") == 2
    assert suffered(journal) == ["FV9"]


async def test_an_answer_that_was_packed_says_so(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.COMPRESSED, on=True)
    assert "1.1 " in await ask(running, "cloud-a")  # this client understands it
    assert suffered(journal) == ["FV9"]


async def test_a_drip_is_a_good_answer_in_the_end(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.DRIP, 0, on=True)
    for streamed in (True, False):
        assert "4 " in await ask(running, "cloud-a", streamed=streamed)
    assert [fact.members["finished"] for fact in journal.of("told")] == [True, True]


async def test_nonsense_may_come_after_something_good(running: Targets, journal: RunJournal) -> None:
    await running["cloud-a"].mode(modes.GARBAGE, 2, on=True)
    text = await ask(running, "cloud-a")
    assert text.index("1.2 ") < text.index("<html>")
    assert told(journal).members["text"] == "1.1 1.2 "


async def test_who_refuses_ends_connections_that_are_kept(running: Targets) -> None:
    url = f"http://127.0.0.1:{running['node-0'].port}/v1/models"
    async with aiohttp.ClientSession() as session, asyncio.timeout(2.0):
        async with session.get(url) as response:
            await response.read()
        await running["node-0"].refuse()
