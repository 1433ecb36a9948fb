"""A look at one node: the free ones (its list of models, its metrics), and the one that costs a token.

Rules: a look never raises for what a node does; it has a timer of its own (N04) and reads little; a 4xx means
alive (N16), and where a token was asked for a 401 or 403 means that ours is refused. Own nodes are free, so no
usage is booked. Not here: who looks and when (`probe.py`), what follows.
"""

import json
from collections.abc import Callable, Mapping

from ktms.dialects.openai_chat.answer import BadAnswer, read_answer, read_error
from ktms.dialects.openai_chat.models_list import ModelsList, read_models, usable_window
from ktms.domain.access.secret import Secret
from ktms.domain.call import Route
from ktms.domain.capacity.engine_metrics import METRICS_MAX_BYTES, UNKNOWN_LOAD, EngineLoad, read_engine_metrics
from ktms.domain.capacity.node_report import Look, ModelReport, NodeReport
from ktms.domain.capacity.seat import NodeState, Seat
from ktms.domain.capacity.serving import is_other_model, window_on
from ktms.domain.ids import VendorModel
from ktms.domain.routing.engine_words import is_loading
from ktms.domain.routing.timers import Timers
from ktms.domain.snapshot import Node
from ktms.engine.targets import expected_names
from ktms.ports.upstream import Prologue, Upstream, UpstreamAnswer, UpstreamFailed, UpstreamRequest
from ktms.vendors.registry import node_shape
from ktms.vendors.shape import Headers

LOOK_S = 2.0
"""A free look is a list of names: what takes longer is no answer."""

TOKEN_S = 120.0
"""One token of a model in memory comes within seconds; a busy or slow machine gets a generous timer."""

LOAD_S = 600.0
"""Hundreds of gigabytes from a slow disk; after that it will not come."""

LIST_MAX_BYTES = 1024 * 1024
"""A list of a thousand models with all their facts."""

_ONE_TOKEN = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "stream": False}
_ONE_TEXT = {"input": "Hi"}

_REFUSED_CHAT = frozenset({Look.ANSWERED, Look.BARS})
_TOKEN_REFUSED = frozenset({401, 403})

DRAINING_HEADER = "x-ktms-node-state"


def says_draining(answer: UpstreamAnswer) -> bool:
    """Whether an agent says beside its answer that it takes nothing new."""
    return (answer.header(DRAINING_HEADER) or "").lower() == "draining"


class Looks:
    """Looks at nodes through the upstream port."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def models(self, state: NodeState, misses: int) -> NodeReport:
        """Read the list of models; `misses` are the looks missed in a row before this one."""
        node = state.node
        shape = node_shape(node.engine)
        prologue = Prologue("GET", shape.models_path(node.origin.base_path), _headers(node, shape.auth_headers))
        timers = _timers(LOOK_S)
        missed = NodeReport(node.name, Look.MISSED, misses=misses + 1)
        try:
            answer = await self._upstream.send(UpstreamRequest(node.origin, prologue, b"", timers))
        except UpstreamFailed:
            return missed
        try:
            if answer.status >= 500:
                return await self._server_error(node, answer, missed)
            body = await answer.read(LIST_MAX_BYTES) if answer.status == 200 else b""
        except UpstreamFailed:
            return missed
        finally:
            answer.close()
        return _report(node, read_models(body) if body else None, draining=says_draining(answer))

    async def load(self, node: Node) -> EngineLoad | None:
        """Read what an engine's metrics say of its load; None where they say nothing, for whatever reason.

        That is evidence of nothing: an engine may have been started without them.
        """
        shape = node_shape(node.engine)
        target = shape.metrics_target(node.origin.base_path)
        if target is None:
            return None
        prologue = Prologue("GET", target, _headers(node, shape.auth_headers, accept="text/plain"))
        try:
            answer = await self._upstream.send(UpstreamRequest(node.origin, prologue, b"", _timers(LOOK_S)))
            try:
                text = await answer.read(METRICS_MAX_BYTES) if answer.status == 200 else b""
            finally:
                answer.close()
        except UpstreamFailed:
            return None
        load = read_engine_metrics(text)
        return None if load == UNKNOWN_LOAD else load

    async def token(self, seat: Seat, *, timeout_s: float = TOKEN_S) -> NodeReport:
        """Have one token generated, or one text embedded; loads the model where it is not in memory."""
        report, _ = await self._token(seat, timeout_s)
        return report

    async def verify(self, node: Node) -> str | None:
        """Have a node generate one token; None when it did, else the reason in one line.

        It may name the node's URL, which holds no secret: whoever asks has announced it.
        """
        seat = Seat(NodeState(node, node.slots), next(iter(node.windows)), None)
        _, reason = await self._token(seat, TOKEN_S)
        return reason

    async def _token(self, seat: Seat, timeout_s: float) -> tuple[NodeReport, str | None]:
        told = await self._asked(seat, Route.CHAT, _ONE_TOKEN, timeout_s)
        if told[0].look not in _REFUSED_CHAT:
            return told
        embedded = await self._asked(seat, Route.EMBEDDINGS, _ONE_TEXT, timeout_s)  # no model to chat with (N16)?
        return embedded if embedded[0].look is Look.SPOKE else told

    async def _asked(
        self, seat: Seat, route: Route, members: Mapping[str, object], timeout_s: float
    ) -> tuple[NodeReport, str | None]:
        """Ask for the least there is to ask for; the second value says why it did not come, None where it did."""
        node = seat.state.node
        shape = node_shape(node.engine)
        prologue = Prologue("POST", shape.path(node.origin.base_path, route), _headers(node, shape.auth_headers))
        body = json.dumps({"model": seat.vendor_model, **members}).encode()
        request = UpstreamRequest(node.origin, prologue, body, _timers(timeout_s))
        try:
            answer = await self._upstream.send(request)
            try:
                return await self._told(seat, route, answer)
            finally:
                answer.close()
        except UpstreamFailed as failure:
            return NodeReport(node.name, Look.MISSED), f"{_url(node)}: {failure.detail} ({failure.kind.value})"

    async def _told(self, seat: Seat, route: Route, answer: UpstreamAnswer) -> tuple[NodeReport, str | None]:
        name = seat.state.node.name
        if answer.status >= 500:
            report = await self._server_error(seat.state.node, answer, NodeReport(name, Look.MISSED))
            return report, f"The node answered {answer.status}."
        body = await answer.read(LIST_MAX_BYTES)
        if answer.status != 200:
            look = Look.BARS if answer.status in _TOKEN_REFUSED else Look.ANSWERED
            return NodeReport(name, look), f"The node refused the request with {answer.status}."
        if not _is_generated(body, seat, route):
            return NodeReport(name, Look.MISSED), "The node's answer is not one of its model."
        return NodeReport(name, Look.SPOKE, models={seat.vendor_model: ModelReport(loaded=True)}), None

    async def _server_error(self, node: Node, answer: UpstreamAnswer, missed: NodeReport) -> NodeReport:
        error = read_error(await answer.read(LIST_MAX_BYTES))
        if answer.status == 503 and says_draining(answer):
            return NodeReport(node.name, Look.ANSWERED, draining=True)
        if answer.status == 503 and is_loading(error):
            return NodeReport(node.name, Look.LOADING)
        return missed


def _is_generated(body: bytes, seat: Seat, route: Route) -> bool:
    """Whether a 200 is an answer of this model: a portal's page and another engine on the port are not (N27)."""
    try:
        told = read_answer(body, public_model="", route=route)
    except BadAnswer:
        return False
    if told.error is not None or not told.finished:
        return False
    return told.model_told is None or not is_other_model(told.model_told, expected_names(seat))


def _report(node: Node, told: ModelsList | None, *, draining: bool) -> NodeReport:
    if told is None:
        return NodeReport(node.name, Look.ANSWERED, draining=draining)
    shape = node_shape(node.engine)
    models = {
        VendorModel(name): ModelReport(
            loaded=facts.loaded,
            window=_shared(node, VendorModel(name), facts.window) if shape.shares_window else facts.window,
            tokens_per_s=facts.tokens_per_s,
        )
        for name, facts in told.models.items()
    }
    return NodeReport(node.name, Look.ANSWERED, draining=draining, slots=told.slots, busy=told.busy, models=models)


def _shared(node: Node, model: VendorModel, told: int | None) -> int | None:
    """Read a window that all slots may share (N20): what somebody declared of it by hand is known better."""
    return usable_window(told, node.slots) if window_on(node, model) is None else None


def _headers(node: Node, auth: Callable[[Secret], Headers], accept: str = "application/json") -> Headers:
    own = () if node.token is None else auth(node.token)
    return (("Content-Type", "application/json"), ("Accept", accept), *own)


def _url(node: Node) -> str:
    origin = node.origin
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    return f"{origin.scheme}://{host}:{origin.port}{origin.base_path}"


def _timers(seconds: float) -> Timers:
    return Timers(pool_s=1.0, connect_s=1.0, first_token_s=seconds, idle_s=seconds, total_s=seconds)
