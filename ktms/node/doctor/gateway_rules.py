"""What the gateway says of this node: whether it is there, knows the key, takes the announcement, dials back.

Pure. Not here: asking it (`ask_gateway.py`).
"""

from collections.abc import Iterator

from ktms.node.doctor.cause import Id
from ktms.node.doctor.facts import Facts, GatewayFacts
from ktms.node.doctor.finding import Finding, finding

SKEW_MAX_S = 60.0
"""A clock that is set by the system is right to the second. One that is behind has an agent that starts anew seem
older than it was; one far ahead is refused (`EPOCH_AHEAD_MAX_MS`); either breaks certificates."""

TAKEN, WRONG_BODY, NO_KEY, STALE, TOO_OFTEN, SERVER_ERROR = 200, 400, 401, 409, 429, 500

_OF_GATEWAYS = frozenset({TAKEN, WRONG_BODY, NO_KEY, STALE, TOO_OFTEN})
"""Who answers otherwise is no gateway, and its clock is nobody's measure."""

SET_CLOCK = {"darwin": "sudo sntp -sS time.apple.com", "linux": "sudo timedatectl set-ntp true"}


def gateway_findings(facts: Facts) -> Iterator[Finding]:
    """Judge what the gateway says."""
    gateway, settings = facts.gateway, facts.settings
    if gateway is None or settings is None:
        return
    is_gateway = gateway.key is None or gateway.key in _OF_GATEWAYS or gateway.key >= SERVER_ERROR
    if is_gateway and gateway.ahead_s is not None and abs(gateway.ahead_s) > SKEW_MAX_S:
        yield _skew(gateway.ahead_s, facts.machine.system)
    if gateway.why_not is not None:
        yield finding(Id.GATEWAY_AWAY, gateway=settings.gateway, why=gateway.why_not)
        return
    yield from _key(gateway, settings.gateway)
    start = "" if facts.service is None else facts.service.start
    yield from _announced(gateway, start)
    if gateway.ignored:
        yield finding(Id.MODEL_FORBIDDEN, models=", ".join(gateway.ignored))
    if gateway.verified is False:
        url = settings.public_url or f"port {settings.listen_port} of this machine"
        yield finding(Id.NOT_REACHED, reason=gateway.reason or "it says no more", url=url)


def _skew(ahead_s: float, system: str) -> Finding:
    direction = "ahead of" if ahead_s > 0 else "behind"
    command = SET_CLOCK.get(system, "see its settings of date and time")
    return finding(Id.CLOCK_SKEW, seconds=round(abs(ahead_s)), direction=direction, command=command)


def _key(gateway: GatewayFacts, url: str) -> Iterator[Finding]:
    """Judge by the status whether there is a gateway that knows the key."""
    if gateway.key is None:
        return
    if gateway.key == NO_KEY:
        yield finding(Id.KEY_REFUSED)
    elif gateway.key in _OF_GATEWAYS:
        return
    elif gateway.key >= SERVER_ERROR:
        why = f"it answers {gateway.key}{f': {gateway.message}' if gateway.message else ''}"
        yield finding(Id.GATEWAY_AWAY, gateway=url, why=why)
    else:
        yield finding(Id.GATEWAY_OTHER, gateway=url, status=gateway.key)


def _announced(gateway: GatewayFacts, start: str) -> Iterator[Finding]:
    """Judge the answer to what the agent says."""
    if gateway.announced == STALE:
        yield finding(Id.SUPERSEDED, message=gateway.message, start=start)
    elif gateway.announced == WRONG_BODY:
        yield finding(Id.ANNOUNCEMENT_REFUSED, message=gateway.message or "it does not say why")
