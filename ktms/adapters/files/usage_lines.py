"""Usage events as lines of JSON, as they lie in the spool: one object per event, members named as in the domain.

A member that is unknown is passed over, one that is missing has its default, so a newer release reads what an
older one left behind, and the other way round. Not here: the wire to the accounting service (adapters/grpc).
"""

import msgspec

from ktms.domain.access.usage_event import UsageEvent


class LineInvalid(Exception):
    """The line is no usage event, or the event cannot be written."""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(UsageEvent)


def encode_line(event: UsageEvent) -> bytes:
    """Write an event, with its line end.

    Raises:
        LineInvalid: a value that JSON cannot hold.
    """
    try:
        return _encoder.encode(event) + b"\n"
    except (msgspec.MsgspecError, OverflowError, ValueError) as error:
        raise LineInvalid from error


def decode_line(line: bytes) -> UsageEvent:
    """Read an event.

    Raises:
        LineInvalid: garbage.
    """
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, ValueError) as error:
        raise LineInvalid from error
