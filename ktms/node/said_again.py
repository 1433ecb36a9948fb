"""What the running agent announced last, to be announced once more so that the gateway dials back.

Word for word and with its epoch, so the agent stays the one that is served. Pure. Not here: who asks for it
(`commands/verify.py`, `doctor/`).
"""

from collections.abc import Mapping

from ktms.node.settings import NodeSettings

NO_AGENT = "no agent runs"


def said_again(settings: NodeSettings, status: Mapping[str, object] | None) -> dict[str, object] | str:
    """Give what the running agent announced last; words say why that is not known."""
    if status is None:
        return NO_AGENT
    said = status.get("said")
    if not isinstance(said, dict) or not isinstance(said.get("epoch"), int):
        return "the agent has announced nothing yet"
    if said.get("draining") is not False or status.get("state") != "serving":
        return "the agent is leaving"
    return {**said, "token": settings.node_token.reveal()}
