"""Which release of the agent this is, as installed."""

from importlib.metadata import PackageNotFoundError, version  # noqa: TID251 - reads a version, imports nothing


def release() -> str:
    """Give the version of the agent, or of the checkout that it runs from."""
    for name in ("ktms-node", "ktms"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "0+unknown"
