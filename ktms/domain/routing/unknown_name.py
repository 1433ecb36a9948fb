"""What a client is told whose name for a model leads nowhere: the likeliest name meant, and where all are.

Rule: only names that are open to the key are suggested; a refusal must not tell what else there is.
"""

from collections.abc import Sequence
from difflib import get_close_matches

from ktms.domain.errors import ErrorCode, Problem, problem

NAME_SHOWN_MAX = 100
"""A name is short; what a client sends instead of one is not repeated at length."""

NAMES_COMPARED_MAX = 256
"""Comparing costs some 10 µs a name, on a loop that all calls share; nobody mistypes one of thousands by heart."""


def unknown_model(asked: str, open_names: Sequence[str]) -> Problem:
    """Say that there is no such model for this key; `open_names` are those that there are."""
    shown = asked[:NAME_SHOWN_MAX]
    compared = open_names if len(open_names) <= NAMES_COMPARED_MAX else ()
    meant = "".join(f" (did you mean {name!r}?)" for name in get_close_matches(shown, compared, n=1))
    message = f"There is no model named {shown!r} for this key{meant}; GET /v1/models lists them."
    return problem(ErrorCode.MODEL_NOT_FOUND, message, param="model")
