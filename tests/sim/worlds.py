"""Small worlds for tests of the simulator itself."""

from sim.draft import CallDraft, Draft
from sim.scenarios.scenario import Scenario, nothing_special


def plain(calls: int = 5, draft: Draft | None = None) -> Scenario:
    """A world on the wire in which nothing goes wrong."""
    made = draft or Draft(calls=tuple(CallDraft(at_s=number * 2.0) for number in range(calls)), runs_s=20.0)
    return Scenario("plain", "nothing goes wrong", (), lambda _: made, nothing_special)
