"""The OpenAI door: reads a request, hands it to the engine, writes what comes back.

Thin on purpose: it knows no routing. What it decides is form only: headers, body limits, the shape of errors.
"""

import asyncio
from urllib.parse import unquote

from ktms.api.body import BodyLimits, read_body, refuse_encoding
from ktms.api.inbound import Inbound
from ktms.api.openai.headers import HeaderReader
from ktms.api.openai.stream_client import StreamClient
from ktms.api.routes import Handler, Routes, refusal
from ktms.api.wire import Dates, Reply, whole
from ktms.dialects.openai_chat.errors import ModelEntry, model_body, models_body
from ktms.dialects.openai_chat.request import BadRequest, RequestBody, is_heavy, read_request
from ktms.domain.call import Route
from ktms.domain.errors import CallFailed, ErrorCode, Problem, problem
from ktms.domain.ids import RequestId
from ktms.domain.routing.unknown_name import unknown_model
from ktms.domain.units import whole_seconds_up
from ktms.engine.call import Call, Failed, Headers, Streamed, Whole
from ktms.engine.ids import Identities
from ktms.engine.switchboard import Switchboard
from ktms.ports.clock import Clock

OWNED_BY = "ktms"
"""Who owns a model in the list: clients only need the member to be there."""


class OpenAIDoor:
    """Serves the model routes and the list of models."""

    def __init__(
        self, engine: Switchboard, identities: Identities, clock: Clock, dates: Dates, limits: BodyLimits
    ) -> None:
        self._engine = engine
        self._identities = identities
        self._clock = clock
        self._dates = dates
        self._limits = limits
        self._reader = HeaderReader()

    def routes(self) -> Routes:
        """Give the routes of this door."""
        return {
            "/v1/chat/completions": {"POST": self._serve(Route.CHAT)},
            "/v1/completions": {"POST": self._serve(Route.COMPLETIONS)},
            "/v1/embeddings": {"POST": self._serve(Route.EMBEDDINGS)},
            "/v1/models": {"GET": self._models},
            "/v1/models/": {"GET": self._model},
        }

    def _serve(self, route: Route) -> Handler:
        async def handler(request: Inbound) -> Reply:
            received_at = self._clock.monotonic()
            request_id = self._identities.request()
            try:
                call = await self._read(request, route, request_id, received_at)
            except CallFailed as failure:
                self._engine.refused_at_door(request_id, route, failure.problem, received_at)
                return self._write_problem(request, (("X-Request-Id", request_id),), failure.problem)
            client = StreamClient(request, self._dates)
            match await self._engine.handle(call, client):
                case Whole(headers, body):
                    return whole(request, self._dates, 200, body, headers=headers)
                case Streamed():
                    return client.reply()
                case Failed(headers, cause):
                    return self._write_problem(request, headers, cause)

        return handler

    async def _read(self, request: Inbound, route: Route, request_id: RequestId, received_at: float) -> Call:
        headers = self._reader.read(request.raw_headers)
        refuse_encoding(headers.encoding)
        body = await read_body(request, self._limits, expects=headers.expects)
        parsed = await _parse(body, route)
        choices, forwarded = headers.choices, headers.forwarded
        return Call(request_id, route, headers.token, choices, parsed, received_at, forwarded, headers.once)

    async def _models(self, request: Inbound) -> Reply:
        told = self._identity()
        try:
            listed = await self._listed(request)
        except CallFailed as failure:
            return self._write_problem(request, told, failure.problem)
        return whole(request, self._dates, 200, models_body(listed), headers=told)

    async def _model(self, request: Inbound) -> Reply:
        told = self._identity()
        name = unquote(request.raw_path.partition("?")[0].removeprefix("/v1/models/"))
        try:
            listed = await self._listed(request)
        except CallFailed as failure:
            return self._write_problem(request, told, failure.problem)
        for entry in listed:
            if entry.id == name:
                return whole(request, self._dates, 200, model_body(entry), headers=told)
        return self._write_problem(request, told, unknown_model(name, [entry.id for entry in listed]))

    def _identity(self) -> Headers:
        return (("X-Request-Id", self._identities.request()),)

    async def _listed(self, request: Inbound) -> list[ModelEntry]:
        token = self._reader.read(request.raw_headers).token
        created = int(self._clock.wall())
        return [
            ModelEntry(one.id, created, OWNED_BY, one.context_window, one.placement)
            for one in await self._engine.listing(token)
        ]

    def _write_problem(self, request: Inbound, headers: Headers, cause: Problem) -> Reply:
        if cause.retry_after_s is not None:
            headers = (*headers, ("Retry-After", str(whole_seconds_up(cause.retry_after_s))))
        unread = not request.content.is_eof()
        return refusal(request, self._dates, cause, headers=headers, keeps=False if unread else None)


async def _parse(body: bytes, route: Route) -> RequestBody:
    try:
        if is_heavy(body):
            return await asyncio.get_running_loop().run_in_executor(None, read_request, body, route)
        return read_request(body, route)
    except BadRequest as error:
        raise CallFailed(problem(ErrorCode.INVALID_REQUEST, error.message, param=error.param)) from error
