import json
from collections.abc import Callable

import pytest

from ktms.adapters.memory.upstream import NOBODY, Fail, Head, MemoryUpstream, Pause, Script, Silence
from ktms.domain.access.secret import Secret
from ktms.domain.capacity.engine_metrics import METRICS_MAX_BYTES, EngineLoad
from ktms.domain.capacity.node_report import Look, ModelReport, NodeReport
from ktms.domain.capacity.seat import NodeState, Seat
from ktms.domain.catalogue import EngineKind
from ktms.domain.ids import VendorModel
from ktms.domain.routing.outcome import FailureKind
from ktms.engine.look import LIST_MAX_BYTES, LOAD_S, LOOK_S, TOKEN_S, Looks
from ktms.ports.upstream import UpstreamRequest
from tests.engine.machines import ONE, machine, machines
from tests.engine.rig import JSON, NODE_MODEL, listing, refusal, snapshot, whole
from tests.world.events import chat_answer, compact, embedding_answer

MODEL = VendorModel(NODE_MODEL)
LOADING: Script = (
    Head(503, JSON),
    compact({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
)
MISSED: dict[str, Script] = {
    "nobody": NOBODY,
    "500": refusal(500),
    "503 busy": refusal(503, "server busy, please try again."),
    "silence": (Silence(),),
    "slow": (Pause(LOOK_S + 1), *listing(NODE_MODEL)),
    "silent body": (Head(200, JSON), Silence()),
    "cut body": (Head(200, JSON), b'{"da', Fail(FailureKind.CLOSED)),
    "endless body": (Head(200, JSON), b"x" * (LIST_MAX_BYTES + 1)),
    "cut error": (Head(503, JSON), Fail(FailureKind.CLOSED)),
}
ALIVE: dict[str, Script] = {
    "404": refusal(404),
    "401": refusal(401),
    "429": refusal(429),
    "302": refusal(302),
    "garbage": (Head(200, JSON), b"<html>hello</html>"),
    "empty": (Head(200, JSON),),
    "another list": (Head(200, JSON), b'{"data": 7}'),
}


class Looker:
    """Looks at one node that answers as told."""

    def __init__(self, *scripts: Script, engine: EngineKind = EngineKind.VLLM, slots: int = 4, **members: object):
        self.asked: list[UpstreamRequest] = []
        self._scripts = list(scripts)
        self.upstream = MemoryUpstream(self._script)
        self.looks = Looks(self.upstream)
        spec = machine("mac-1", engine=engine, slots=slots, **members)  # type: ignore[arg-type]  # members of the node
        self.node = snapshot(machines(spec)).nodes[0]
        self.state = NodeState(self.node, self.node.slots)
        self.seat = Seat(self.state, MODEL, None)

    def _script(self, request: UpstreamRequest) -> Script:
        self.asked.append(request)
        return self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]

    async def models(self, misses: int = 0) -> NodeReport:
        return await self.looks.models(self.state, misses)

    async def token(self) -> NodeReport:
        return await self.looks.token(self.seat)


async def test_a_list_of_models_is_an_answer() -> None:
    report = await Looker(listing(NODE_MODEL, "other")).models()
    assert report == NodeReport(
        ONE, Look.ANSWERED, models={MODEL: ModelReport(), VendorModel("other"): ModelReport()}
    )


async def test_the_list_is_asked_for_beside_the_other_routes_with_the_nodes_token() -> None:
    looker = Looker(listing(), token=Secret("node-token-0123"))
    await looker.models()
    (request,) = looker.asked
    assert (request.prologue.method, request.prologue.path) == ("GET", "/v1/models")
    assert ("Authorization", "Bearer node-token-0123") in request.prologue.headers


async def test_what_an_agent_says_of_its_engine_is_read() -> None:
    page = listing(NODE_MODEL, slots=3, busy=2, loaded=False, context_window=4096, tokens_per_second=30.5)
    report = await Looker(page, engine=EngineKind.AGENT).models()
    assert (report.slots, report.busy) == (3, 2)
    assert report.models == {MODEL: ModelReport(loaded=False, window=4096, tokens_per_s=30.5)}


METRICS = b'vllm:num_requests_running{engine="0"} 3\nvllm:num_requests_running{engine="1"} 5\n'


async def test_metrics_are_read_at_the_root_of_the_engine_with_the_nodes_token() -> None:
    looker = Looker((Head(200), METRICS), token=Secret("node-token-0123"))
    assert await looker.looks.load(looker.node) == EngineLoad(running=8)
    (request,) = looker.asked
    assert (request.prologue.method, request.prologue.path) == ("GET", "/metrics")
    assert {("Authorization", "Bearer node-token-0123"), ("Accept", "text/plain")} <= set(request.prologue.headers)
    assert request.timers.total_s == LOOK_S


@pytest.mark.parametrize("engine", [EngineKind.AGENT, EngineKind.OLLAMA])
async def test_who_has_no_metrics_is_not_asked_for_them(engine: EngineKind) -> None:
    looker = Looker((Head(200), METRICS), engine=engine)
    assert await looker.looks.load(looker.node) is None
    assert looker.asked == []


NO_LOAD: dict[str, Script] = {
    "nobody": NOBODY,
    "404": refusal(404),
    "501": refusal(501),
    "silence": (Silence(),),
    "slow": (Pause(LOOK_S + 1), Head(200), METRICS),
    "cut": (Head(200), METRICS, Fail(FailureKind.CLOSED)),
    "endless": (Head(200), b"#" * (METRICS_MAX_BYTES + 1)),
    "another page": listing(NODE_MODEL),
}


@pytest.mark.parametrize("script", NO_LOAD.values(), ids=NO_LOAD)
async def test_n12_metrics_that_cannot_be_read_say_nothing(script: Script) -> None:
    looker = Looker(script)
    assert await looker.looks.load(looker.node) is None
    assert looker.upstream.open_total == 0


async def test_a_node_that_drains_says_so_in_a_header() -> None:
    page = listing(NODE_MODEL, headers=(("X-KTMS-Node-State", "Draining"),))
    assert (await Looker(page).models()).draining
    assert not (await Looker(listing(NODE_MODEL)).models()).draining


async def test_a_node_that_refuses_to_be_looked_at_since_it_drains_is_alive() -> None:
    page = refusal(503, x_ktms_node_state="draining")
    report = await Looker(page).models()
    assert (report.look, report.draining) == (Look.ANSWERED, True)


@pytest.mark.parametrize(("engine", "window"), [(EngineKind.LLAMACPP, 256), (EngineKind.VLLM, 1024)])
async def test_n20_slots_that_may_share_a_window_have_their_part_of_it(engine: EngineKind, window: int) -> None:
    page: Script = (
        Head(200, JSON),
        compact({"object": "list", "data": [{"id": NODE_MODEL, "object": "model", "meta": {"n_ctx": 1024}}]}),
    )
    report = await Looker(page, engine=engine, slots=4).models()
    assert report.models[MODEL].window == window


@pytest.mark.parametrize("script", ALIVE.values(), ids=ALIVE)
async def test_n16_whatever_is_no_server_error_shows_that_it_lives(script: Script) -> None:
    report = await Looker(script).models(misses=2)
    assert report == NodeReport(ONE, Look.ANSWERED)


@pytest.mark.parametrize("script", MISSED.values(), ids=MISSED)
async def test_a_look_that_brings_no_answer_is_missed_and_counted(script: Script) -> None:
    looker = Looker(script)
    assert await looker.models(misses=2) == NodeReport(ONE, Look.MISSED, misses=3)
    assert looker.upstream.open_total == 0


async def test_n17_a_node_that_loads_its_weights_says_so() -> None:
    assert await Looker(LOADING).models() == NodeReport(ONE, Look.LOADING)
    assert await Looker(LOADING).token() == NodeReport(ONE, Look.LOADING)


async def test_one_token_is_asked_for() -> None:
    looker = Looker(whole("H"))
    report = await looker.token()
    (request,) = looker.asked
    body = json.loads(request.body)
    assert (body["model"], body["max_tokens"], body["stream"]) == (NODE_MODEL, 1, False)
    assert (request.prologue.method, request.prologue.path) == ("POST", "/v1/chat/completions")
    assert report == NodeReport(ONE, Look.SPOKE, models={MODEL: ModelReport(loaded=True)})


async def test_n16_a_model_that_cannot_chat_is_asked_to_embed() -> None:
    looker = Looker(refusal(400, "does not support chat"), (Head(200, JSON), embedding_answer([[0.1]])))
    assert (await looker.token()).look is Look.SPOKE
    assert [request.prologue.path for request in looker.asked] == ["/v1/chat/completions", "/v1/embeddings"]


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_n16_a_node_that_refuses_a_token_lives(status: int) -> None:
    assert await Looker(refusal(status)).token() == NodeReport(ONE, Look.ANSWERED)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_node_that_refuses_ours_is_seen_to_bar_us(status: int) -> None:
    assert await Looker(refusal(status)).token() == NodeReport(ONE, Look.BARS)


async def test_a_node_that_lets_us_embed_alone_does_not_bar_us() -> None:
    looker = Looker(refusal(403), (Head(200, JSON), embedding_answer([[0.1]])))
    assert (await looker.token()).look is Look.SPOKE


NO_TOKEN: dict[str, Script] = {
    "nobody": NOBODY,
    "500": refusal(500),
    "silence": (Silence(),),
    "cut": (Head(200, JSON), b'{"cho', Fail(FailureKind.CLOSED)),
    "garbage": (Head(200, JSON), b"<html>welcome to the hotel</html>"),
    "an error inside": (Head(200, JSON), compact({"error": {"message": "oom", "type": "api_error"}})),
    "another model": (Head(200, JSON), chat_answer("H", model="somebody-else")),
}


@pytest.mark.parametrize("script", NO_TOKEN.values(), ids=NO_TOKEN)
async def test_a_token_that_did_not_come_is_missed(script: Script) -> None:
    looker = Looker(script)
    assert await looker.token() == NodeReport(ONE, Look.MISSED)
    assert looker.upstream.open_total == 0


Asking = Callable[[Looker], "object"]


@pytest.mark.parametrize(("timeout_s", "expected_s"), [(None, TOKEN_S), (LOAD_S, LOAD_S)])
async def test_n04_a_token_has_a_timer_of_its_own(timeout_s: float | None, expected_s: float) -> None:
    looker = Looker((Silence(),))
    if timeout_s is None:
        await looker.looks.token(looker.seat)
    else:
        await looker.looks.token(looker.seat, timeout_s=timeout_s)
    assert looker.asked[0].timers.total_s == expected_s


async def test_a_list_has_little_time() -> None:
    looker = Looker((Silence(),))
    await looker.models()
    assert looker.asked[0].timers.total_s == LOOK_S


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (whole("H"), None),
        (refusal(500), "The node answered 500."),
        (refusal(401), "The node refused the request with 401."),
        (NOBODY, "http://10.0.0.1:8000: as its script says (refused)"),
    ],
)
async def test_a_node_that_is_tried_out_says_why_it_does_not_generate(script: Script, reason: str | None) -> None:
    looker = Looker(script)
    assert await looker.looks.verify(looker.node) == reason
