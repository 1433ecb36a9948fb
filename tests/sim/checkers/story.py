"""A run told by hand: facts at moments of our choice, and what each checker says of them."""

from collections.abc import Callable, Iterator

from sim.checkers.violation import Violation
from sim.journal.fact import Value
from sim.journal.journal import Journal

GATEWAY = "gw1"
CLOUD = "cloud-a"
NODE = "node-0"

Check = Callable[[Journal], Iterator[Violation]]


class Story:
    """Facts in the order in which they are told. Only what differs from an ordinary call has to be said."""

    def __init__(self) -> None:
        self.now = 0.0
        self.journal = Journal(lambda: self.now)

    def at(self, moment: float) -> "Story":
        self.now = moment
        return self

    def note(self, kind: str, host: str = "world", **members: Value) -> "Story":
        self.journal.note(kind, host, **members)
        return self

    def setting(self, name: str, value: Value) -> "Story":
        return self.note("setting", name=name, value=value)

    def phase(self, name: str) -> "Story":
        return self.note("phase", name=name)

    def fault(self, kind: str, target: str = "", *, on: bool = True, amount: float = 0.0) -> "Story":
        return self.note("fault", fault=kind, target=target, on=on, amount=amount)

    def sent(self, call: str = "1", /, **different: Value) -> "Story":
        members: dict[str, Value] = {
            "call": call,
            "gateway": GATEWAY,
            "key": "app",
            "model": "public",
            "route": "chat",
            "streamed": True,
            "placement": None,
        }
        return self.note("call_sent", "client", **(members | different))

    def begun(self, call: str = "1", *, status: int = 200) -> "Story":
        return self.note("call_begun", "client", call=call, status=status, request_id=f"req-{call}")

    def ended(self, call: str = "1", outcome: str = "done", /, **different: Value) -> "Story":
        members: dict[str, Value] = {
            "call": call,
            "outcome": outcome,
            "status": 200,
            "code": "",
            "text": "a b c",
            "events": 3,
            "request_id": f"req-{call}",
            "garbled": "",
        }
        return self.note("call_ended", "client", **(members | different))

    def left(self, call: str = "1", how: str = "fin") -> "Story":
        return self.note("client_left", "client", call=call, how=how)

    def asked(self, exchange: int = 1, target: str = CLOUD, /, **different: Value) -> "Story":
        members: dict[str, Value] = {
            "exchange": exchange,
            "target": target,
            "call": "1",
            "cloud": target.startswith("cloud"),
            "model": "theirs",
            "gateway": GATEWAY,
        }
        return self.note("asked", target, **(members | different))

    def told(self, exchange: int = 1, target: str = CLOUD, /, **different: Value) -> "Story":
        members: dict[str, Value] = {
            "exchange": exchange,
            "target": target,
            "call": "1",
            "how": "whole",
            "status": 200,
            "text": "a b c",
            "visible": True,
            "finished": True,
        }
        return self.note("told", target, **(members | different))

    def failed(self, exchange: int = 1, target: str = CLOUD, /, **different: Value) -> "Story":
        """Tell of an answer of 502."""
        members: dict[str, Value] = {"status": 502, "text": "", "visible": False, "finished": False}
        return self.told(exchange, target, **(members | different))

    def usage(self, target: str = CLOUD, status: str = "ok", call: str = "1", /, **different: Value) -> "Story":
        members: dict[str, Value] = {
            "event_id": f"event-{sum(1 for _ in self.journal.of('usage'))}",
            "request_id": f"req-{call}",
            "target": target,
            "node": None if target.startswith("cloud") else target,
            "status": status,
            "prompt_tokens": 1,
            "completion_tokens": 1,
            "estimated": False,
        }
        return self.note("usage", GATEWAY, **(members | different))

    def record(self, call: str = "1", /, **different: Value) -> "Story":
        members: dict[str, Value] = {
            "request_id": f"req-{call}",
            "attempts": "cloud-a/=ok",
            "status": 200,
            "code": None,
            "cancelled": False,
        }
        return self.note("record", GATEWAY, **(members | different))

    def gauge(self, value: int, label: str = CLOUD) -> "Story":
        return self.note("gauge", GATEWAY, name="breaker_state", label=label, value=value)

    def log(self, name: str, text: str = "") -> "Story":
        return self.note("log", GATEWAY, level="error", name=name, text=text)

    def answered(self, call: str = "1", *, exchange: int = 1) -> "Story":
        """Tell of an ordinary call, from now on: sent, asked, answered, settled, recorded, within one second."""
        begins_at = self.now
        self.sent(call).at(begins_at + 0.1).asked(exchange, call=call)
        self.at(begins_at + 0.4).begun(call).at(begins_at + 0.9).told(exchange, call=call)
        self.usage(CLOUD, "ok", call).record(call)
        return self.at(begins_at + 1.0).ended(call)

    def over(self) -> "Story":
        """End it; the ledger has all that was recorded."""
        ids = dict.fromkeys(fact.text("event_id") for fact in self.journal.of("usage"))
        if ids:
            self.note("usage_kept", "ledger", sender=GATEWAY, ids=" ".join(ids), fresh=len(ids), rows=len(ids))
        return self.phase("over")


def said(check: Check, story: Story) -> list[str]:
    """Give what a checker says of a story, without its code."""
    return [violation.what for violation in check(story.journal)]
