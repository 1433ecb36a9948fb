"""A value that must not be seen: its `repr`, `str` and format are redacted, so no log or traceback shows it."""

from typing import final


@final
class Secret:
    """Holds text that only `reveal` gives out. Equal secrets compare equal; they never hash."""

    __slots__ = ("_text",)
    __hash__ = None  # type: ignore[assignment]  # a hash in a set or cache key would outlive the secret

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Give the text itself; call it only where the bytes leave for their destination."""
        return self._text

    @property
    def last4(self) -> str:
        """Last four characters, for listings; fewer than 12 characters show none."""
        return self._text[-4:] if len(self._text) >= SHOWN_LENGTH_MIN else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __repr__(self) -> str:
        return "Secret(…)"


SHOWN_LENGTH_MIN = 12
"""Four characters of a short secret would be too large a part of it."""
