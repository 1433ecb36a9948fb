"""Calls that a fault of a target has struck, and what targets were asked, in stories of runs that never were."""

from sim.journal.fact import Value
from tests.chaos.experiments.story import RunStory

WHOLE: dict[str, Value] = {"how": "whole", "status": 200, "text": "", "visible": False, "finished": False}


def asked(
    story: RunStory,
    at: float,
    name: str,
    by: str,
    *,
    gateway: str = "gw1",
    key: str = "key-1",
    took_s: float = 0.1,
    **tells: Value,
) -> None:
    """Tell that a target was asked for a call, and what it told."""
    number = len(list(story.journal.of("asked"))) + 1000
    of: dict[str, Value] = {"exchange": number, "target": by, "call": name}
    cloud = by.startswith("cloud")
    story.note(at, "asked", by, **of, cloud=cloud, model="m", gateway=gateway, key=key)
    story.note(at + took_s, "told", by, **of, **(WHOLE | tells))


def struck(story: RunStory, at: float, name: str, row: str, by: str, **members: Value) -> None:
    """Tell that a fault has struck a call at a target."""
    story.note(at, "fault_active", by, id=row, target=by, call=name, **members)


def met(
    story: RunStory,
    at: float,
    row: str,
    at_target: str,
    outcome: str = "done",
    took_s: float = 0.1,
    by: str = "",
    *,
    attempts: str = "",
    status: int = 200,
    code: str = "",
) -> str:
    """Tell of a call that a fault has struck at a target; `by`: who was asked then."""
    name = story.call(at, outcome, took_s=took_s, by=by, attempts=attempts, status=status, code=code)
    asked(story, at, name, at_target)
    struck(story, at, name, row, at_target)
    return name
