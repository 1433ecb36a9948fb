"""Reports about nodes as they lie in Redis: the stamp of Redis in milliseconds, a space, JSON.

Replicas of two releases share a board: fields that one does not know are ignored, a report that cannot be read is
none. Not here: where they lie (`keys.py`), who reads them (`fleet_board.py`).
"""

import msgspec

from ktms.domain.capacity.node_report import NodeReport
from ktms.ports.fleet_board import Seen

_DECODER = msgspec.json.Decoder(NodeReport)


def encode(report: NodeReport) -> bytes:
    """Write a report; the script puts the stamp before it."""
    return msgspec.json.encode(report)


def decode(text: bytes, now_ms: int) -> Seen | None:
    """Read a stamped report; None where it cannot be read."""
    stamp, _, body = text.partition(b" ")
    try:
        return Seen(_DECODER.decode(body), max(0, now_ms - int(stamp)) / 1000)
    except (msgspec.DecodeError, ValueError):
        return None
