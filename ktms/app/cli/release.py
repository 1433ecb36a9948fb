"""Which release this is, as installed."""

from importlib.metadata import PackageNotFoundError, version  # noqa: TID251 - reads a version, imports nothing

UNKNOWN = "0+unknown"
"""A checkout that was never installed."""


def release() -> str:
    """Give the version of the installed package."""
    try:
        return version("ktms")
    except PackageNotFoundError:
        return UNKNOWN
