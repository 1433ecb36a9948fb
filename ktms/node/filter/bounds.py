"""What the filter bounds: sizes, numbers and times, each with its reason."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds where nothing else is said; tests take shorter ones."""

    head_s: float = 10.0  # to send a complete request head
    idle_s: float = 75.0  # a kept connection without a request; the gateway and cloudflared give theirs up before
    stall_s: float = 60.0  # a client that takes no byte of its answer
    body_s: float = 30.0  # to send a small body
    body_rate_min_bytes_per_s: int = 8 * KIB  # a large one earns more time at this rate
    body_max_bytes: int = 32 * MIB  # what the gateway takes of a client
    bodies_max_bytes: int = 256 * MIB  # of all calls under way together: the machine's memory is for its engine
    connections_max: int = 2048  # one for each of the 1,024 slots a node may announce, and as many to spare
    ping_s: float = 15.0  # edges of tunnels cut an answer that is silent for 100 s
    connect_s: float = 2.0  # the engine is on this machine or beside it
    begin_s: float = 600.0  # an engine that streams: hundreds of gigabytes may have to be loaded from a slow disk
    whole_s: float = 3600.0  # one that does not: its head comes with the last token; callers are less patient
    silence_s: float = 600.0  # between two pieces of an answer: vLLM says its head before a long prefill
    error_max_bytes: int = 64 * KIB  # an engine's error; a longer one is a page of something else
