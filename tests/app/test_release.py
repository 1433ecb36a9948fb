from importlib.metadata import PackageNotFoundError  # noqa: TID251 - names an error, imports nothing

import pytest

from ktms.app import release as module
from ktms.app.release import UNKNOWN, release


def test_a_release_is_what_is_installed() -> None:
    assert release()[:1].isdigit()


def test_a_checkout_that_was_never_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(module, "version", missing)
    assert release() == UNKNOWN
