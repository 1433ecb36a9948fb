"""The door for batches."""

import hashlib

from ktms.api.body import BodyLimits, read_body, refuse_encoding
from ktms.api.openai.served import Asked, Serving
from ktms.api.routes import Routes
from ktms.api.wire import Reply
from ktms.dialects.openai_chat.batch_objects import batch_body, batches_body
from ktms.dialects.openai_chat.batch_request import BatchRequest, read_batch_request
from ktms.dialects.openai_chat.request import BadRequest
from ktms.domain.batch.batch import NewBatch, Once
from ktms.domain.batch.names import BatchId, read_batch_id
from ktms.domain.errors import CallFailed, ErrorCode, problem
from ktms.engine.batch_shelf import ClientShelf

ROUTE = "/batches"

PAGE_USUAL, PAGE_MAX = 20, 100
"""OpenAI's own."""


class BatchesDoor:
    """Serves `/v1/batches`."""

    def __init__(self, shelf: ClientShelf, serving: Serving, limits: BodyLimits, keep_s: float) -> None:
        self._shelf = shelf
        self._serving = serving
        self._limits = limits
        self._keep_s = keep_s

    def routes(self) -> Routes:
        """Give the routes of this door."""
        handler = self._serving.handler
        return {
            "/v1/batches": {"POST": handler(ROUTE, self._make), "GET": handler(ROUTE, self._list)},
            "/v1/batches/": {"GET": handler(ROUTE, self._get), "POST": handler(ROUTE, self._post)},
        }

    async def _make(self, asked: Asked) -> Reply:
        refuse_encoding(asked.headers.encoding)
        body = await read_body(asked.request, self._limits, expects=asked.headers.expects)
        wanted = _read(body)
        if wanted.input_file is None:
            raise CallFailed(problem(ErrorCode.NOT_FOUND, "This key has no such file.", param="input_file_id"))
        word = asked.headers.once
        name, output, errors = self._shelf.new_names()
        new = NewBatch(
            id=name,
            owner=asked.key.id,
            tenant=asked.key.tenant,
            input_file=wanted.input_file,
            output_file=output,
            error_file=errors,
            route=wanted.route,
            metadata=wanted.metadata,
            keep_s=self._keep_s,
            once=None if word is None else Once(word, hashlib.sha256(body).digest()),
        )
        made = await self._shelf.make(new)
        again = (("Idempotency-Replayed", "true"),) if made.id != name else ()
        return self._serving.answer(asked, batch_body(made), again)

    async def _list(self, asked: Asked) -> Reply:
        query, limit = asked.query(), asked.limit(PAGE_USUAL, PAGE_MAX)
        after = read_batch_id(query["after"]) if "after" in query else None
        if "after" in query and after is None:
            raise CallFailed(problem(ErrorCode.INVALID_REQUEST, "`after` is no id of a batch", param="after"))
        found = await self._shelf.batch_list(asked.key, limit + 1, after)
        return self._serving.answer(asked, batches_body(found[:limit], more=len(found) > limit))

    async def _get(self, asked: Asked) -> Reply:
        return self._serving.answer(asked, batch_body(await self._shelf.batch(asked.key, _named(asked.tail))))

    async def _post(self, asked: Asked) -> Reply:
        name, _, act = asked.tail.partition("/")
        batch = _named(name) if act == "cancel" else None
        return self._serving.answer(asked, batch_body(await self._shelf.cancel(asked.key, batch)))


def _named(text: str) -> BatchId | None:
    return read_batch_id(text)


def _read(body: bytes) -> BatchRequest:
    try:
        return read_batch_request(body)
    except BadRequest as error:
        raise CallFailed(problem(ErrorCode.INVALID_REQUEST, error.message, param=error.param)) from error
