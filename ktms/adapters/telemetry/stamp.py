"""RFC 3339 stamps in UTC with milliseconds, cheap because a second's text is made once."""

from datetime import UTC, datetime

from ktms.domain.units import MS_PER_S


class Stamp:
    """Turns wall seconds since 1970 into text such as `2026-11-30T09:15:00.042Z`."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def __call__(self, wall_s: float) -> str:
        """Give the text; milliseconds are cut, not rounded, so that they never carry."""
        second = int(wall_s)
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._text}.{int((wall_s - second) * MS_PER_S):03d}Z"
