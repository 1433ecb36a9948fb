"""One attempt: where it goes and what it came to. Shapes only; `attempt.py` fills them."""

from dataclasses import dataclass

from ktms.domain.access.secret import Secret
from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.capacity.speed import EngineTimings
from ktms.domain.conversation.usage import Usage
from ktms.domain.ids import NodeName, VendorKeyId, VendorModel, VendorName
from ktms.domain.routing.outcome import Verdict
from ktms.domain.routing.timers import Timers
from ktms.domain.snapshot import Origin
from ktms.engine.call import Result
from ktms.ports.upstream import Prologue


@dataclass(slots=True)
class Target:
    """Where one attempt goes, all names resolved. Nobody changes one; not frozen: one is made per attempt.

    `secret` is the credential that `prologue` carries; `withholds` names members of a client's body that it is not
    to get. `expects`: names one of which must answer, where the engine tells the truth about it (empty: any);
    `may_cut`: the engine may cut a prompt in silence, beyond `window` tokens per slot (None: unknown).
    """

    vendor: VendorName
    node: NodeName | None
    vendor_model: VendorModel
    key_id: VendorKeyId | None
    origin: Origin
    prologue: Prologue
    timers: Timers
    asks_usage: bool
    withholds: frozenset[str] = frozenset()
    secret: Secret | None = None
    expects: tuple[VendorModel, ...] = ()
    may_cut: bool = False
    window: int | None = None


@dataclass(slots=True)
class Shot:
    """What one attempt came to. `verdict` is set when it failed; `result` when it ended the call's answer.

    `secret` was sent with it and is taken out of what comes back; `told` are the vendor's own counts,
    `visible_events` and `content_bytes` what the client was given, `truncated` whether the engine cut the prompt.
    """

    began_at: float
    secret: Secret | None = None
    verdict: Verdict | None = None
    result: Result | None = None
    http_status: int | None = None
    retry_after_s: float | None = None
    told: Usage | None = None
    visible_events: int = 0
    content_bytes: int = 0
    status: AttemptStatus = AttemptStatus.FAILED
    first_token_at: float | None = None
    last_token_at: float | None = None
    timings: EngineTimings | None = None
    truncated: bool = False
