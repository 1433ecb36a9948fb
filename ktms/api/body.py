"""Reading a request body within its limits: size, time, rate, encoding (docs/api.md, Errors).

Bodies are never decompressed: any Content-Encoding is refused, so a bomb stays small.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from aiohttp import web
from aiohttp.http import HttpProcessingError

from ktms.api.inbound import Inbound
from ktms.api.wire import is_http10
from ktms.domain.errors import CallFailed, ErrorCode, problem

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Bounds of one request body."""

    max_bytes: int = 32 * MIB  # a long conversation with images; documented
    total_s: float = 30.0  # time to read a small body in all
    rate_min_bytes_per_s: int = 8 * 1024  # a large body earns more time at this rate


def refuse_encoding(encoding: str) -> None:
    """Refuse a compressed body.

    Raises:
        CallFailed: 415 for anything but identity.
    """
    if encoding and encoding != "identity":
        raise CallFailed(problem(ErrorCode.UNSUPPORTED_ENCODING, "Send the body without Content-Encoding."))


async def read_body(request: Inbound, limits: BodyLimits, *, expects: str = "") -> bytes:
    """Read the whole body.

    Raises:
        CallFailed: 413 too large, 408 too slow, 417 for an expectation we do not meet.
    """
    length = request.content_length
    if length is not None and length > limits.max_bytes:
        raise _too_large(limits)
    _meet_expectation(request, expects)
    content = request.content
    if content.is_eof():
        body = content.read_nowait()
        if len(body) > limits.max_bytes:
            raise _too_large(limits)
        return body
    return await _read_slowly(request, limits)


async def body_pieces(request: Inbound, limits: BodyLimits, *, expects: str = "") -> AsyncGenerator[bytes, None]:
    """Give the body as it comes; the caller bounds its size.

    Raises:
        CallFailed: 408 too slow, 400 broken framing, 417 for an expectation we do not meet.
    """
    _meet_expectation(request, expects)
    content = request.content
    if content.is_eof():
        yield content.read_nowait()
        return
    loop = asyncio.get_running_loop()
    began_at = loop.time()
    size = 0
    try:
        while True:
            allowed_s = max(limits.total_s, size / limits.rate_min_bytes_per_s)
            async with asyncio.timeout_at(began_at + allowed_s):
                piece = await content.readany()
            if not piece:
                return
            size += len(piece)
            yield piece
    except TimeoutError as error:
        message = "The body came too slowly."
        raise CallFailed(problem(ErrorCode.REQUEST_TIMEOUT, message)) from error
    except (web.RequestPayloadError, HttpProcessingError) as error:  # aiohttp's two parsers raise one each
        message = "The body's framing is broken."
        raise CallFailed(problem(ErrorCode.INVALID_REQUEST, message)) from error


async def _read_slowly(request: Inbound, limits: BodyLimits) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async with aclosing(body_pieces(request, limits)) as coming:
        async for piece in coming:
            pieces.append(piece)
            size += len(piece)
            if size > limits.max_bytes:
                raise _too_large(limits)
    return b"".join(pieces)


def _meet_expectation(request: Inbound, expects: str) -> None:
    """Answer `Expect: 100-continue` (RFC 9110, 10.1.1) once the head is acceptable; HTTP/1.0 does not know it."""
    if not expects or is_http10(request):
        return
    if expects != "100-continue":
        raise CallFailed(problem(ErrorCode.EXPECTATION_FAILED, "The only expectation met is 100-continue."))
    if request.transport is not None and not request.content.is_eof():
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _too_large(limits: BodyLimits) -> CallFailed:
    whole_mib, rest = divmod(limits.max_bytes, MIB)
    size = f"{whole_mib} MiB" if whole_mib and not rest else f"{limits.max_bytes // KIB} KiB"
    message = f"The body is larger than {size}."
    return CallFailed(problem(ErrorCode.REQUEST_TOO_LARGE, message))
