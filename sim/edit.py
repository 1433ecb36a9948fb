"""What a replay changes in a drafted world: the fault plan, which calls are made, the scheduling noise.

Shrinking a failure means finding the smallest edit that still fails; the edit travels as one word in the line that
replays it. `-` is the world as drawn.
"""

import base64
import binascii
import json
import zlib
from dataclasses import dataclass, replace

from sim.draft import Draft
from sim.faults.plan import Plan, PlanInvalid, plan_of, rows_of

AS_DRAWN = "-"


@dataclass(frozen=True, slots=True)
class Edit:
    """None leaves a part as it was drawn. `calls` are the numbers of the calls that are made."""

    faults: Plan | None = None
    calls: tuple[int, ...] | None = None
    noise: float | None = None

    def applied(self, draft: Draft) -> Draft:
        """Give the draft with this edit."""
        if self.faults is not None:
            draft = replace(draft, faults=self.faults)
        if self.noise is not None:
            draft = replace(draft, knobs=replace(draft.knobs, noise=self.noise))
        return draft

    def makes(self, number: int) -> bool:
        """Whether the call of this number is made."""
        return self.calls is None or number in self.calls

    def word(self) -> str:
        """Write it as one word."""
        if self == NO_EDIT:
            return AS_DRAWN
        faults = None if self.faults is None else rows_of(self.faults)
        packed = json.dumps([faults, self.calls, self.noise], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(zlib.compress(packed, 9)).decode().rstrip("=")


NO_EDIT = Edit()


def read_edit(word: str) -> Edit:
    """Read an edit back.

    Raises:
        PlanInvalid: garbled, or with faults this release does not know.
    """
    if word == AS_DRAWN:
        return NO_EDIT
    try:
        packed = base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))
        faults, calls, noise = json.loads(zlib.decompress(packed))
        made = None if calls is None else tuple(int(number) for number in calls)
        share = None if noise is None else float(noise)
    except (ValueError, TypeError, zlib.error, binascii.Error) as error:
        raise PlanInvalid("the plan is garbled: copy the whole line, nothing more") from error
    if share is not None and not 0 <= share <= 1:
        raise PlanInvalid(f"the plan has a noise of {share!r}, which is no share from 0 to 1")
    return Edit(None if faults is None else plan_of(faults), made, share)
