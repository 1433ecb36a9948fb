"""The process environment: the one place of the gateway that touches it.

Not here: what the variables mean (`settings.py`, `command_settings.py`).
"""

import os
from collections.abc import MutableMapping


def process_environment() -> MutableMapping[str, str]:
    """Give the live environment; removing a name removes it for child processes too."""
    return os.environ  # noqa: TID251 - the one place the ban points to
