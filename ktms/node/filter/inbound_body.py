"""Reading a request body within its bounds: size, time, rate. What is refused is refused before all of it is read.

Bodies are never decompressed. Not here: codings (`target.py` refuses them), what is in the body (`body.py`).
"""

import asyncio

from aiohttp import web
from aiohttp.http import HttpProcessingError

from ktms.domain.errors import ErrorCode
from ktms.node.filter.body_room import Share
from ktms.node.filter.bounds import MIB, Bounds
from ktms.node.filter.refused import Refused, refused

_BROKEN = (web.RequestPayloadError, HttpProcessingError)
"""aiohttp's two parsers raise one each."""


_NO_ROOM = refused(
    ErrorCode.OVERLOADED,
    "This node has its memory full of other calls.",
    ends=True,
    headers=(("Retry-After", "1"),),
)


async def read_body(request: web.BaseRequest, bounds: Bounds, share: Share) -> bytes | Refused:
    """Read the whole body into its share of the room for all, or say why not."""
    if (request.content_length or 0) > bounds.body_max_bytes:
        return _too_large(bounds)
    if request.headers.get("Expect") and request.transport is not None and not request.content.is_eof():
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        return await _pieces(request, bounds, share)
    except TimeoutError:
        return refused(ErrorCode.REQUEST_TIMEOUT, "The body came too slowly.", ends=True)
    except _BROKEN:
        return refused(ErrorCode.INVALID_REQUEST, "The body's framing is broken.", ends=True)


async def _pieces(request: web.BaseRequest, bounds: Bounds, share: Share) -> bytes | Refused:
    pieces: list[bytes] = []
    size = 0
    began_at = asyncio.get_running_loop().time()
    while True:
        allowed_s = max(bounds.body_s, size / bounds.body_rate_min_bytes_per_s)
        async with asyncio.timeout_at(began_at + allowed_s):
            piece = await request.content.readany()
        if not piece:
            return b"".join(pieces)
        size += len(piece)
        if size > bounds.body_max_bytes:
            return _too_large(bounds)
        if not share.take(len(piece)):
            return _NO_ROOM
        pieces.append(piece)


def _too_large(bounds: Bounds) -> Refused:
    message = f"The body is larger than {bounds.body_max_bytes / MIB:g} MiB."
    return refused(ErrorCode.REQUEST_TOO_LARGE, message, ends=True)
