"""A run told by hand in which a key and its team have limits."""

from sim.journal.fact import Value
from tests.sim.checkers.story import GATEWAY, Story

KEY, TEAM = "key:k1", "tenant:default"
BOTH = f"{KEY} {TEAM}"

MICRO = 1_000_000
"""In pico-dollars."""


class LimitsStory(Story):
    """Facts about reservations; `micros` of a call are reserved and used unless said otherwise."""

    def limited(self, name: str, value: int, *accounts: str) -> "LimitsStory":
        """Give accounts a limit; without names the key."""
        self.setting("leases_shared", "True").setting("reservation_ttl_s", 15.0).setting("begins_at_unix_s", 0.0)
        for account in accounts or (KEY,):
            self.setting(f"limit:{name}:{account}", value)
        return self

    def reserved(self, call: str, /, host: str = GATEWAY, **different: Value) -> "LimitsStory":
        """Tell of a reservation."""
        return self._about("quota_reserved", call, host, different)

    def refused(self, call: str, limit: str, /, host: str = GATEWAY, **different: Value) -> "LimitsStory":
        """Tell of a refusal."""
        members: dict[str, Value] = {"account": KEY, "limit": limit, "wait_ms": 1000}
        return self._about("quota_refused", call, host, members | different)

    def unknown(self, call: str, /, host: str = GATEWAY, **different: Value) -> "LimitsStory":
        """Tell of a store that did not answer."""
        members: dict[str, Value] = {"operation": "reserve", "failure": "away"}
        return self._about("quota_unknown", call, host, members | different)

    def settled(self, call: str, micros: int = 10, /, host: str = GATEWAY, tokens: int = 5) -> "LimitsStory":
        """Tell of a settlement; 0 of both gives all back."""
        if micros or tokens:
            self.note("quota_settled", host, call=call, tokens=tokens, micros=micros)
        else:
            self.note("quota_given_back", host, call=call)
        return self

    def booked(self, call: str, micros: int = 10, /, host: str = GATEWAY, **different: Value) -> "LimitsStory":
        """Tell of the usage event of a call."""
        members: dict[str, Value] = {
            "event_id": f"event-{call}-{len(self.journal.facts)}",
            "request_id": call,
            "target": "cloud-a",
            "node": None,
            "status": "ok",
            "prompt_tokens": 1,
            "completion_tokens": 1,
            "estimated": False,
            "key": "k1",
            "cost_picos": micros * MICRO,
            "uncounted": False,
        }
        self.note("usage", host, **(members | different))
        return self

    def recorded(self, call: str, /, host: str = GATEWAY) -> "LimitsStory":
        """Tell that a call is over."""
        self.note("record", host, request_id=call, attempts="", status=200, code=None, cancelled=False)
        return self

    def used(self, call: str, micros: int = 10, /, host: str = GATEWAY, **different: Value) -> "LimitsStory":
        """Tell of an ordinary call, from now on: reserved, booked, settled, recorded, within one second."""
        begins_at = self.now
        self.reserved(call, host, micros=micros, **different)
        self.at(begins_at + 0.9)
        return self.booked(call, micros, host).settled(call, micros, host).recorded(call, host)

    def counted(self, *, running: int = 0, settled: int = 0, reserved: int = 0) -> "LimitsStory":
        """Tell what the store says of the key."""
        self.note("quota_seen", account=KEY, running=running, settled=settled, reserved=reserved)
        return self

    def at(self, moment: float) -> "LimitsStory":
        """Go on at this moment."""
        super().at(moment)
        return self

    def fault(self, kind: str, target: str = "", *, on: bool = True, amount: float = 0.0) -> "LimitsStory":
        """Tell of a fault."""
        super().fault(kind, target, on=on, amount=amount)
        return self

    def _about(self, kind: str, call: str, host: str, different: dict[str, Value]) -> "LimitsStory":
        members: dict[str, Value] = {"accounts": KEY, "tokens": 5, "micros": 10, "waited_s": 0.0}
        self.note(kind, host, call=call, **(members | different))
        return self
