"""What is wrong with the agent and the way to it: it does not run, its port, TLS, the tunnel.

Pure. Not here: what keeps it running (`machine_rules.py`), what the gateway says (`gateway_rules.py`).
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from ktms.node.agent import EXIT_SUPERSEDED
from ktms.node.doctor.cause import Id
from ktms.node.doctor.facts import AgentFacts, Facts, Port, ServiceFacts, Speaks, TunnelFacts
from ktms.node.doctor.finding import Finding, finding
from ktms.node.settings import NodeSettings, Tls, Tunnel

LATER = "agent that started later"
"""In what a gateway says to the earlier one; launchd is told 0 then, or it would start it again."""

MEND_TUNNEL = "see the agent's log for what cloudflared says; its token may have been revoked"
MEND_EDGE = (
    "have the network let TCP port 7844 out, or join without a tunnel where the gateway reaches this machine"
)


def node_findings(facts: Facts) -> Iterator[Finding]:
    """Judge agent, port and tunnel."""
    settings, agent = facts.settings, facts.agent
    if settings is None or agent is None:
        return
    if not agent.alive:
        yield from _down(agent, facts.filter, facts.service or ServiceFacts())
    elif facts.filter is not None:
        yield from _spoken(settings, facts.filter)
    if facts.public is not None and settings.public_url is not None:
        yield from _public(settings.public_url, facts.public)
    if facts.tunnel is not None:
        yield from _tunnel(settings, facts.tunnel)


def _down(agent: AgentFacts, port: Port | None, service: ServiceFacts) -> Iterator[Finding]:
    said = f"; it said last: {agent.said_last}" if agent.said_last else ""
    if service.last_exit == EXIT_SUPERSEDED or LATER in (agent.said_last or ""):
        yield finding(
            Id.SUPERSEDED, message="it started later than this one, which has ended", start=service.start
        )
    if port is not None and port.is_open:
        owner = "another program" if port.owner is None else f"{port.owner.name} (process {port.owner.pid})"
        yield finding(Id.AGENT_PORT_TAKEN, program=owner, port=port.number)
    code = "" if not service.last_exit else f", it ended with code {service.last_exit}"
    yield finding(Id.AGENT_DOWN, last=code + said, start=service.start)


def _spoken(settings: NodeSettings, port: Port) -> Iterator[Finding]:
    """Compare what the filter speaks with what the settings say."""
    wanted = Speaks.PLAIN if settings.tls is Tls.OFF else Speaks.TLS
    if port.speaks is not None and port.speaks is not wanted:
        tls = Tls.ON if port.speaks is Speaks.TLS else Tls.OFF
        yield _wrong(f"--tls {settings.tls}", port, port.speaks, "this machine", tls, "")


def _public(url: str, port: Port) -> Iterator[Finding]:
    says = urlsplit(url).scheme
    if port.speaks is not None and port.speaks != says:
        meant = f" --public-url {port.speaks}:{url.partition(':')[2]}"
        tls = Tls.ON if port.speaks is Speaks.TLS else Tls.OFF
        yield _wrong(f"{says}://", port, port.speaks, port.host, tls, meant)


def _wrong(says: str, port: Port, speaks: Speaks, where: str, tls: Tls, and_url: str) -> Finding:
    spoken = "TLS" if speaks is Speaks.TLS else "plain HTTP"
    return finding(Id.WRONG_TLS, says=says, port=port.number, where=where, speaks=spoken, tls=tls, and_url=and_url)


def _tunnel(settings: NodeSettings, tunnel: TunnelFacts) -> Iterator[Finding]:
    if not tunnel.runs:
        mend = "start the agent again, with cloudflared installed"
        yield finding(Id.TUNNEL_DOWN, why="cloudflared does not run", mend=mend)
    elif not tunnel.connections:
        if tunnel.udp is False and tunnel.tcp:
            yield finding(Id.UDP_BLOCKED)
        is_shut = tunnel.udp is False and tunnel.tcp is False
        why = "neither UDP nor TCP gets out to port 7844" if is_shut else "cloudflared has no connection"
        yield finding(Id.TUNNEL_DOWN, why=why, mend=MEND_EDGE if is_shut else MEND_TUNNEL)
    else:
        if tunnel.is_over_tcp and tunnel.udp is False:
            yield finding(Id.TUNNEL_OVER_TCP)
        if tunnel.url is not None and tunnel.origin is not None and not tunnel.origin.is_ours:
            yield _origin(settings, tunnel.url, tunnel.origin.status)


def _origin(settings: NodeSettings, url: str, status: int) -> Finding:
    scheme = Speaks.PLAIN if settings.tls is Tls.OFF else Speaks.TLS
    origin = f"{scheme}://127.0.0.1:{settings.listen_port}"
    if settings.tunnel is Tunnel.QUICK:
        origin += ", by starting the agent again"
    answer = f"{status} comes from the tunnel itself" if status in {502, 503, 504, 530} else f"{status} is not its"
    return finding(Id.TUNNEL_ORIGIN, url=url, answer=answer, origin=origin)
