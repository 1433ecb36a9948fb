"""What all routes about files and batches have in common: the key first, the act, a line in the books."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import parse_qs

from ktms.api.inbound import Inbound
from ktms.api.openai.headers import HeaderReader, RequestHeaders
from ktms.api.routes import Handler, refusal
from ktms.api.status_table import status_of
from ktms.api.wire import Dates, Reply, whole
from ktms.domain.access.client_key import ClientKey
from ktms.domain.errors import CallFailed, ErrorCode, Problem, problem
from ktms.domain.ids import RequestId
from ktms.domain.units import whole_seconds_up
from ktms.engine.batch_shelf import ClientShelf
from ktms.engine.ids import Identities
from ktms.ports.clock import Clock
from ktms.ports.telemetry import CallRecord, Telemetry

QUERY_CHARS_MAX = 1024
"""A few names and numbers."""

PARAM_CHARS_MAX = 64
"""Names of parameters are short words; more of a wrong one helps nobody."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request whose key is verified. `tail` is what follows the route in the path."""

    request: Inbound
    id: RequestId
    headers: RequestHeaders
    key: ClientKey
    tail: str

    def query(self) -> dict[str, str]:
        """Give the parameters; of several of one name the last counts.

        Raises:
            CallFailed: one holds what no text of ours holds.
        """
        text = self.request.raw_path.partition("?")[2][:QUERY_CHARS_MAX]
        found = {name: values[-1] for name, values in parse_qs(text).items()}
        for name, value in found.items():
            if not value.isprintable():
                message = "A parameter is not printable text"
                raise CallFailed(problem(ErrorCode.INVALID_REQUEST, message, param=name[:PARAM_CHARS_MAX]))
        return found

    def limit(self, usual: int, most: int) -> int:
        """Give how many entries a list may have.

        Raises:
            CallFailed: it is no number from 1 to `most`.
        """
        text = self.query().get("limit", str(usual))
        if not (text.isascii() and text.isdigit()) or len(text) > len(str(most)) or not 1 <= int(text) <= most:
            message = f"`limit` must be a whole number from 1 to {most}"
            raise CallFailed(problem(ErrorCode.INVALID_REQUEST, message, param="limit"))
        return int(text)


Act = Callable[[Asked], Awaitable[Reply]]


class Serving:
    """Makes handlers of acts."""

    def __init__(
        self, shelf: ClientShelf, identities: Identities, clock: Clock, dates: Dates, telemetry: Telemetry
    ) -> None:
        self._shelf = shelf
        self._identities = identities
        self._clock = clock
        self._telemetry = telemetry
        self._reader = HeaderReader()
        self.dates = dates

    def handler(self, route: str, act: Act) -> Handler:
        """Make the handler of an act on this route, which is the path without `/v1`."""

        async def handle(request: Inbound) -> Reply:
            began_at = self._clock.monotonic()
            request_id = self._identities.request()
            self._telemetry.call_started()
            record = CallRecord(request_id, route, _LEFT, None, 0.0)
            try:
                reply = await self._act(request, record, act)
                record.status = reply.status
            except CallFailed as failure:
                record.status, record.code = status_of(failure.problem), failure.problem.code
                reply = self._refusal(request, request_id, failure.problem)
            finally:
                record.cancelled = record.status == _LEFT
                record.total_s = self._clock.monotonic() - began_at
                self._telemetry.call_ended(record)
            return reply

        return handle

    def answer(self, asked: Asked, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
        """Write an answer."""
        return whole(asked.request, self.dates, 200, body, headers=(("X-Request-Id", asked.id), *headers))

    async def _act(self, request: Inbound, record: CallRecord, act: Act) -> Reply:
        headers = self._reader.read(request.raw_headers)
        key = await self._shelf.admit(headers.token)
        record.key_id, record.tenant = key.id, key.tenant
        path = request.raw_path.partition("?")[0]
        tail = path.removeprefix(f"/v1{record.route}").removeprefix("/")
        return await act(Asked(request, record.request_id, headers, key, tail))

    def _refusal(self, request: Inbound, request_id: RequestId, cause: Problem) -> Reply:
        headers: tuple[tuple[str, str], ...] = (("X-Request-Id", request_id),)
        if cause.retry_after_s is not None:
            headers = (*headers, ("Retry-After", str(whole_seconds_up(cause.retry_after_s))))
        unread = not request.content.is_eof()
        return refusal(request, self.dates, cause, headers=headers, keeps=False if unread else None)


_LEFT = 499
"""Until another status is known: the client left before there was one."""
