"""The gateway: whether it is there, what its clock says, whether it knows the key, whether it reaches this node.

What the running agent announced is announced again, with its own epoch: with a later one the gateway would
end the agent. Where none runs the key is shown with an announcement that says nothing, which no gateway takes:
401 is about the key, 400 is not. It is one announcement in either case, since the agent's own are counted with it.
Not here: the exchange (`announcer.py`).
"""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC
from email.utils import parsedate_to_datetime

import aiohttp

from ktms.node.announcer import Announcer, why_not
from ktms.node.doctor.facts import GatewayFacts
from ktms.node.doctor.gateway_rules import STALE, TAKEN, WRONG_BODY
from ktms.node.said_again import said_again
from ktms.node.settings import NodeSettings
from ktms.node.state import EngineState, NodeState

HEALTH_S = 10.0
"""A page without any work behind it; what is slower is not reached in earnest."""

HEALTH_MAX_BYTES = 4096
"""Only its head counts."""

TOLD = frozenset({TAKEN, WRONG_BODY, STALE})
"""Answers to an announcement that say something about this node; others are about the gateway's day."""


async def ask_gateway(
    settings: NodeSettings,
    status: Mapping[str, object] | None,
    session: aiohttp.ClientSession,
    now: Callable[[], float],
) -> GatewayFacts:
    """Ask it; `status` is what the running agent says of itself, None where none runs."""
    facts = await _there(settings.gateway.rstrip("/") + "/healthz", session, now)
    if facts.why_not is not None:
        return facts
    said = said_again(settings, status)
    if isinstance(said, str):
        answer = await _announcer(settings, session).ask({})
        facts = replace(facts, not_asked=said)
    else:
        answer = await _announcer(settings, session).ask(said, verify=True)
        facts = replace(facts, announced=answer.status, verified=answer.verified, reason=answer.reason or "")
    if answer.status == 0:
        return replace(facts, why_not=answer.message, announced=None)
    if answer.status not in TOLD:
        facts = replace(facts, announced=None, not_asked=f"it answers {answer.status}, {answer.message}")
    ignored = tuple(one for one in answer.ignored if one in settings.models)
    return replace(facts, key=answer.status, message=answer.message, ignored=ignored)


async def _there(url: str, session: aiohttp.ClientSession, now: Callable[[], float]) -> GatewayFacts:
    try:
        return GatewayFacts(ahead_s=await _ahead_s(url, session, now))
    except aiohttp.ClientConnectorCertificateError as error:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = (
            ssl.CERT_NONE
        )  # nothing is shown or believed but a date: a wrong clock fails there too
        try:
            return GatewayFacts(why_not=why_not(error), ahead_s=await _ahead_s(url, session, now, context))
        except (aiohttp.ClientError, OSError, TimeoutError):
            return GatewayFacts(why_not=why_not(error))
    except TimeoutError:
        return GatewayFacts(why_not="no answer in time")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return GatewayFacts(why_not=why_not(error))


async def _ahead_s(
    url: str, session: aiohttp.ClientSession, now: Callable[[], float], context: ssl.SSLContext | bool = True
) -> float | None:
    """Give how far our clock is ahead of the date of an answer; None where it bears none."""
    timeout = aiohttp.ClientTimeout(total=HEALTH_S)
    before = now()
    async with session.get(url, timeout=timeout, allow_redirects=False, ssl=context) as answer:
        await answer.content.read(HEALTH_MAX_BYTES)
        told = answer.headers.get("Date", "")
    try:
        date = parsedate_to_datetime(told)
    except ValueError:
        return None
    zoned = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return (before + now()) / 2 - zoned.timestamp()


def _announcer(settings: NodeSettings, session: aiohttp.ClientSession) -> Announcer:
    state = NodeState(EngineState(settings.engine))
    return Announcer(settings, state, lambda: None, session, epoch_ms=0, told=lambda _level, _line: None)
