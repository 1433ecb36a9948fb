"""Journals of runs that never were: calls before, during and after a fault that is on from 10 s to 20 s."""

from chaos.experiments.experiment import Broken
from sim.journal.fact import Value
from sim.journal.journal import Journal

BEGAN_AT, ENDED_AT = 10.0, 20.0


class RunStory:
    """Writes facts in the order in which it is told."""

    def __init__(self) -> None:
        self._at = 0.0
        self._number = 0
        self.journal = Journal(lambda: self._at)

    def call(
        self,
        at: float,
        outcome: str = "done",
        *,
        by: str = "",
        took_s: float = 0.1,
        named: str = "",
        **members: Value,
    ) -> str:
        """Tell of one call; `by` names the target that was asked, other members are those of its facts."""
        self._number += 1
        name = named or str(self._number)
        self._at = at
        sent: dict[str, Value] = {
            "gateway": "gw1",
            "key": "app-1",
            "model": "house",
            "route": "chat",
            "streamed": True,
            "placement": None,
            "question": "",
            "word": "",
        }
        sent |= {known: members.pop(known) for known in tuple(sent) if known in members}
        self.journal.note("call_sent", "client", call=name, **sent)
        if by:
            asked: dict[str, Value] = {"exchange": self._number, "target": by, "cloud": by.startswith("cloud")}
            self.journal.note("asked", by, call=name, model="m", gateway=str(sent["gateway"]), **asked)
        self._at = at + took_s
        ended: dict[str, Value] = {"status": 200, "code": "", "text": "", "events": 1, "request_id": name}
        self.journal.note(
            "call_ended", "client", call=name, outcome=outcome, **(ended | {"attempts": ""} | members)
        )
        return name

    def told(self, name: str, at: float, by: str = "cloud-a") -> None:
        """Tell that the target of a call has answered."""
        self._at = at
        said: dict[str, Value] = {"how": "whole", "status": 200, "text": "", "visible": True, "finished": True}
        self.journal.note("told", by, exchange=int(name), target=by, call=name, **said)

    def booked(self, name: str, **members: Value) -> None:
        """Tell of one row of a call."""
        row: dict[str, Value] = {"event_id": f"of-{name}", "target": "cloud-a", "node": None, "status": "ok"}
        counts: dict[str, Value] = {"prompt_tokens": 1, "completion_tokens": 1, "estimated": False}
        self.journal.note("usage", "gw1", request_id=name, **(row | counts | members))

    def note(self, at: float, kind: str, host: str = "world", **members: Value) -> None:
        """Tell of anything else."""
        self._at = at
        self.journal.note(kind, host, **members)

    def ready(self, at: float, status: int = 200, state: str = "ok", host: str = "gw1") -> None:
        """Tell of a look at /readyz."""
        self._at = at
        members: dict[str, Value] = {"status": status, "ready": status == 200, "state": state, "reasons": ""}
        self.journal.note("readyz", host, **members)

    def over(self, at: float = 40.0) -> Broken:
        """End the run."""
        self._at = at
        self.journal.note("phase", "world", name="over")
        return Broken(self.journal, BEGAN_AT, ENDED_AT)
