"""The door for files: uploads and contents go through in pieces, everything else is a short JSON object."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from ktms.api.body import BodyLimits, body_pieces, refuse_encoding
from ktms.api.inbound import Inbound, RawHeaders
from ktms.api.openai.multipart import BadForm, FormReader, boundary_of
from ktms.api.openai.served import Asked, Serving
from ktms.api.openai.upload import FILE_MAX_BYTES, Upload, too_large
from ktms.api.routes import Routes
from ktms.api.way_back import taken
from ktms.api.wire import Reply, head_of, is_http10
from ktms.dialects.openai_chat.batch_objects import deleted_body, file_body, files_body
from ktms.domain.batch.names import FileId, read_file_id
from ktms.domain.errors import CallFailed, ErrorCode, problem
from ktms.engine.batch_shelf import ClientShelf, ComingFile, FileContent
from ktms.ports.file_index import FilePage

ROUTE = "/files"

FORM_BYTES_MAX = 64 * 1024
"""What a form may have around its file."""

PAGE_USUAL, PAGE_MAX = 100, 1000
"""Files on one page of a list; clients turn pages by themselves."""

STALL_S = 60.0
"""A client that takes no byte of a file for so long is dropped, as on any other route."""

_BYTES = "Content-Type: application/octet-stream\r\n"


class FilesDoor:
    """Serves `/v1/files`."""

    def __init__(
        self, shelf: ClientShelf, serving: Serving, limits: BodyLimits, max_bytes: int = FILE_MAX_BYTES
    ) -> None:
        self._shelf = shelf
        self._serving = serving
        self._limits = limits
        self._max_bytes = max_bytes

    def routes(self) -> Routes:
        """Give the routes of this door."""
        handler = self._serving.handler
        return {
            "/v1/files": {"POST": handler(ROUTE, self._upload), "GET": handler(ROUTE, self._list)},
            "/v1/files/": {"GET": handler(ROUTE, self._get), "DELETE": handler(ROUTE, self._delete)},
        }

    async def _upload(self, asked: Asked) -> Reply:
        request, headers = asked.request, asked.headers
        refuse_encoding(headers.encoding)
        length = request.content_length
        if length is not None and length > self._max_bytes + FORM_BYTES_MAX:
            raise too_large(self._max_bytes)
        reader = _reader(request.raw_headers)
        async with aclosing(body_pieces(request, self._limits, expects=headers.expects)) as pieces:
            upload = Upload(pieces, reader, self._max_bytes)
            await upload.begin()
            async with aclosing(upload.content()) as content:
                size_max = self._max_bytes if length is None else min(length, self._max_bytes)
                coming = ComingFile(upload.name, upload.keep_s, size_max)
                stored = await self._shelf.upload(asked.key, coming, content)
        return self._serving.answer(asked, file_body(stored))

    async def _list(self, asked: Asked) -> Reply:
        query, limit = asked.query(), asked.limit(PAGE_USUAL, PAGE_MAX)
        order = query.get("order", "desc")
        if order not in ("asc", "desc"):
            raise CallFailed(problem(ErrorCode.INVALID_REQUEST, "`order` must be asc or desc", param="order"))
        after = read_file_id(query["after"]) if "after" in query else None
        if "after" in query and after is None:
            raise CallFailed(problem(ErrorCode.INVALID_REQUEST, "`after` is no id of a file", param="after"))
        page = FilePage(limit + 1, after, newest_first=order == "desc", purpose=query.get("purpose"))
        found = await self._shelf.files(asked.key, page)
        return self._serving.answer(asked, files_body(found[:limit], more=len(found) > limit))

    async def _get(self, asked: Asked) -> Reply:
        name, _, part = asked.tail.partition("/")
        if part == "content":
            return await self._send(asked, await self._shelf.content(asked.key, read_file_id(name)))
        return self._serving.answer(asked, file_body(await self._shelf.file(asked.key, _named(asked))))

    async def _delete(self, asked: Asked) -> Reply:
        return self._serving.answer(asked, deleted_body(await self._shelf.delete(asked.key, _named(asked))))

    async def _send(self, asked: Asked, content: FileContent) -> Reply:
        """Send a file piece by piece; one that cannot be read to its end cuts the connection."""
        request, size = asked.request, content.file.size_bytes
        framing = f"{_BYTES}Content-Length: {size}\r\n"
        keeps, told = request.keep_alive, (("X-Request-Id", asked.id),)
        head = head_of(200, told, self._serving.dates, framing=framing, keeps=keeps, http10=is_http10(request))
        sent = 0
        if request.transport is not None:
            request.transport.write(head)
        try:
            async with aclosing(self._pieces(content)) as pieces:
                async for piece in pieces:
                    if request.transport is None:
                        break
                    request.transport.write(piece)
                    sent += len(piece)
                    await taken(request, STALL_S)
        except CallFailed:
            sent = -1  # told to the operators; the client sees that it is not whole
        if sent != size:
            _cut(request)
        return Reply(200, b"", None, keeps and sent == size)

    async def _pieces(self, content: FileContent) -> AsyncGenerator[bytes, None]:
        pieces = content.first
        while pieces:
            for piece in pieces:
                yield piece.content
            pieces = await self._shelf.pieces(content.file.id, pieces[-1].number + 1)


def _reader(raw: RawHeaders) -> FormReader:
    """Make the reader of the form that the headers announce.

    Raises:
        CallFailed: they announce none.
    """
    given = next((value for name, value in raw if name.lower() == b"content-type"), b"")
    try:
        return FormReader(boundary_of(given.decode("latin-1")))
    except BadForm as error:
        raise CallFailed(problem(ErrorCode.INVALID_REQUEST, str(error), param="Content-Type")) from error


def _named(asked: Asked) -> FileId | None:
    return read_file_id(asked.tail)


def _cut(request: Inbound) -> None:
    if request.transport is not None:
        request.transport.abort()
