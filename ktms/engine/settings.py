"""Times and sizes of the engine that an operator may set; defaults are the documented ones."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Seconds and bytes; relations between them are asserted here, once."""

    key_window_s: float = 300.0  # how long a verified key works while Postgres is away (FP1)
    reverify_s: float = 5.0  # all keys in use are asked for again this often (FP11)
    lookup_s: float = 3.0  # one verification is bounded to this in all (FP3)
    refresh_poll_s: float = 5.0  # catalogue version is polled this often, should a notification be lost
    call_total_s: float = 660.0  # one overall deadline per call, all attempts together
    hold_status_s: float = 10.0  # then 200 and comments go out: proxies cut silence
    keepalive_comment_s: float = 15.0  # silence after which a comment is sent
    client_stall_s: float = 60.0  # a client that takes no byte for so long is dropped
    whole_answer_max_bytes: int = 64 * MIB  # a non-streamed answer; embeddings of a large batch fit
    error_body_max_bytes: int = 64 * KIB  # of a vendor's error nobody reads more
    held_max_bytes: int = MIB  # invisible events kept before the first visible one
    stream_max_bytes: int = 512 * MIB  # an endless stream ends here (FV9)
    explain_choices: bool = False  # each choice of a node is told to the debug log with all its terms
    dollars_closed: bool = False  # no call passes whose dollars cannot be counted, whoever calls (FR3)
    loop_look_s: float = 0.1  # a stall of the event loop of twice this is always seen (FG7)
    inflight_max: int = 4096  # calls at once; beyond it new ones are refused early (FG6)

    def __post_init__(self) -> None:
        assert self.reverify_s < self.key_window_s, "keys must be asked for before their window ends"
        assert self.lookup_s < self.call_total_s
