"""What a machine does besides its dialect, as its draft says: what it refuses, what makes it load its model anew.

Not here: one window for all its answers (`one_window.py`); when a machine is deaf (`target.py`).
"""

from sim.draft import Habit, NodeDraft, VendorDraft
from sim.fakes.dialect import Dialect, Machine, Page, Quirks, Route
from sim.fakes.steps import Asked

OPTIONS_LOAD_S = 300.0
"""A large model that is loaded anew since a body asked for another window."""


def quirks_of(draft: VendorDraft | NodeDraft) -> Quirks:
    """Give what a target begins with."""
    if isinstance(draft, VendorDraft):
        return Quirks()
    refuses_long = Habit.REFUSES_LONG in draft.habits
    return Quirks(slots_told=draft.slots_told, shifts=not refuses_long, habits=draft.habits)


def refused(asked: Asked, dialect: Dialect, machine: Machine) -> Page | None:
    """Say no to what no engine of this habit answers; None where it has not that habit."""
    if Habit.EMBEDS_ALONE in machine.quirks.habits and dialect.route(asked.path) is not Route.EMBEDDINGS:
        return dialect.refusal(400, f'"{asked.model}" does not support chat')
    return None


def wants_other_load(asked: Asked, machine: Machine) -> bool:
    """Whether a body has its model loaded in another way: with another window, or not kept at all."""
    if Habit.HEEDS_OPTIONS not in machine.quirks.habits:
        return False
    options = asked.members.get("options")
    told = [options.get("num_ctx")] if isinstance(options, dict) else []
    windows = [one for one in (*told, asked.members.get("num_ctx")) if one is not None]
    return any(one != machine.window for one in windows) or asked.members.get("keep_alive") in (0, "0")
