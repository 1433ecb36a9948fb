"""Tells the gateway where this node is and what it serves: at the start, on each change, and every 30 s.

Rules: one announcement at a time; each has a deadline; what goes wrong is told once, not at every attempt; the
node key leaves in a header and nowhere else. Not here: what is said (`said.py`), what an answer means
(`answered.py`).
"""

import asyncio
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import NoReturn

import aiohttp

from ktms.node.answered import Next, after_answer, after_failure
from ktms.node.plain_json import from_json
from ktms.node.said import Place, said_of
from ktms.node.settings import NodeSettings
from ktms.node.state import NodeState
from ktms.node.whole_body import whole_body

ANNOUNCE_S = 15.0
"""A gateway answers in milliseconds; beyond this the way is broken."""

VERIFY_S = 150.0
"""The gateway has our node generate a token, for which a model may have to be loaded: its own bound is 120 s."""

ANSWER_MAX_BYTES = 64 * 1024
"""An answer names models; more than this is not from a gateway."""

WAIT_FOR_PLACE_S = 1.0
"""How often one looks again while a tunnel has no address yet."""

ANNOUNCE_PATH = "/node/v1/announce"

Told = Callable[[str, str], None]
"""Takes a level and a line."""


class Superseded(Exception):
    """An agent that started later announces under this node's name."""


@dataclass(frozen=True, slots=True)
class Announced:
    """An answer of the gateway. `status` 0: there was none, `message` says why."""

    status: int
    message: str = ""
    accepted: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    every_s: float | None = None
    retry_after_s: float | None = None
    verified: bool | None = None
    reason: str | None = None


class Announcer:
    """Announces one node. `place` says where it is reached now; None while nobody knows.

    `now_ms` is the clock that `epoch_ms` was read from. `problem`, `accepted` and `ignored` are what became of the
    last announcement, which was `said`; `announced` is called after each.
    """

    def __init__(
        self,
        settings: NodeSettings,
        state: NodeState,
        place: Callable[[], Place | None],
        session: aiohttp.ClientSession,
        *,
        epoch_ms: int,
        now_ms: Callable[[], float] = lambda: math.inf,
        told: Told,
        announced: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings = settings
        self._state = state
        self.place = place
        self.problem: str | None = "nothing was announced yet"
        self.accepted: tuple[str, ...] = ()
        self.ignored: tuple[str, ...] = ()
        self.said: dict[str, object] | None = None
        self._announced = announced
        self._session = session
        self._epoch_ms = epoch_ms
        self._now_ms = now_ms
        self._is_known = False
        self._told = told
        self._failures = 0
        digest = hashlib.sha256(settings.node_token.reveal().encode()).digest()
        self._spread = digest[0] / 255

    async def run(self) -> NoReturn:
        """Announce until cancelled.

        Raises:
            Superseded: see there.
        """
        while True:
            following = await self.announce()
            await self._pause(following)

    async def announce(self) -> Next:
        """Announce once; what follows is what to do next.

        Raises:
            Superseded: see there.
        """
        self._state.news.clear()
        said = said_of(self._settings, self._state, self.place(), self._epoch_ms)
        if said is None:
            return Next(WAIT_FOR_PLACE_S)
        self.said = said
        answer = await self.ask(said)
        if answer.status == 0:
            self._failures += 1
            following = after_failure(answer.message, self._failures, self._spread)
        else:
            self._failures = 0
            following = after_answer(answer.status, answer.message, answer.retry_after_s, answer.every_s)
        self._judge_epoch(answer.status)
        self._tell(following, answer)
        if following.superseded:
            raise Superseded(answer.message)
        return following

    def _judge_epoch(self, status: int) -> None:
        """Take a new epoch where a clock that was ahead at the start made one that no gateway takes."""
        self._is_known = self._is_known or status == HTTPStatus.OK
        if status == HTTPStatus.BAD_REQUEST and not self._is_known:
            self._epoch_ms = int(min(self._epoch_ms, self._now_ms()))

    async def ask(self, said: dict[str, object], *, verify: bool = False) -> Announced:
        """Send one announcement; with `verify` the gateway dials back and the answer says whether that worked."""
        url = self._settings.gateway.rstrip("/") + ANNOUNCE_PATH + ("?verify=1" if verify else "")
        headers = {"Authorization": f"Bearer {self._settings.node_key.reveal()}"}
        total = aiohttp.ClientTimeout(total=VERIFY_S if verify else ANNOUNCE_S)
        try:
            async with self._session.put(
                url, json=said, headers=headers, timeout=total, allow_redirects=False
            ) as answer:
                return _read(answer, await whole_body(answer, ANSWER_MAX_BYTES))
        except TimeoutError:
            return Announced(0, "no answer in time")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Announced(0, why_not(error))

    async def _pause(self, following: Next) -> None:
        try:
            async with asyncio.timeout(following.in_s):
                await (self._state.news.wait() if following.waits_for_news else asyncio.Event().wait())
        except TimeoutError:
            pass

    def _tell(self, following: Next, answer: Announced) -> None:
        """Log what is new: a problem when it begins, changes or ends, models when others are accepted."""
        now = (following.problem, answer.accepted, answer.ignored)
        before = (self.problem, self.accepted, self.ignored)
        self.problem, self.accepted, self.ignored = now
        self._announced()
        if now == before:
            return
        if following.problem is not None:
            self._told("warning", following.problem)
            return
        self._told("info", f"announced; served: {', '.join(answer.accepted) or 'nothing'}")
        if answer.ignored:
            self._told("warning", f"not permitted by the node key: {', '.join(answer.ignored)}")


def why_not(error: Exception) -> str:
    """Say in a few words why an exchange did not work, without repeating what was sent."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not accepted"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name is not known"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"nobody answers at {error.host}:{error.port}"
    if isinstance(error, aiohttp.InvalidURL):
        return "its URL is none"
    return "the connection broke"


def _read(answer: aiohttp.ClientResponse, body: bytes) -> Announced:
    try:
        read = from_json(body)
    except ValueError:
        read = None
    said = read if isinstance(read, dict) else {}
    error = said.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    reason = said.get("reason")
    every_s = said.get("announce_every_s")
    verified = said.get("verified")
    return Announced(
        status=answer.status,
        message=_line(message),
        accepted=_names(said.get("accepted")),
        ignored=_names(said.get("ignored")),
        every_s=every_s if isinstance(every_s, int | float) else None,
        retry_after_s=_seconds(answer.headers.get("Retry-After", "")),
        verified=verified if isinstance(verified, bool) else None,
        reason=_line(reason) or None,
    )


def _names(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _seconds(text: str) -> float | None:
    return float(text) if text.isdecimal() else None


def _line(value: object) -> str:
    """Give a text of the gateway as one printable line."""
    text = value if isinstance(value, str) else ""
    return "".join(sign if sign.isprintable() else " " for sign in text)[:300]
