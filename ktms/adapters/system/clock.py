"""The real clock: the kernel's monotonic clock for durations, the machine's for stamps.

The loop's timers count on the same monotonic clock; the loop's own `time()` is up to a millisecond behind it
(uvloop keeps it per turn), too coarse for the durations that are shown. Virtual time has a clock of its own.
"""

import time
from typing import final


@final
class SystemClock:
    """Implements the `Clock` port."""

    __slots__ = ()

    # Called a dozen times per call: bound as they are, without a frame of ours around them.
    monotonic = staticmethod(time.monotonic)  # noqa: TID251 - this is the clock everybody else takes
    wall = staticmethod(time.time)  # noqa: TID251 - this is the clock everybody else takes
