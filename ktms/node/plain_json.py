"""JSON that somebody else wrote: whatever it is, reading it ends in a value or in `ValueError`, never otherwise.

Not here: what is believed of it (`engines/told.py`, `settings_rules.py`), bodies of chats (`filter/body.py`).
"""

import json
from typing import NoReturn


def from_json(text: str | bytes) -> object:
    """Read it.

    Raises:
        ValueError: it is none, it is nested too deeply, or a number in it is none.
    """
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
